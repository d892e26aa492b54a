import type { Metadata } from "next"
import { notFound } from "next/navigation"
import { clientsOf } from "@/app/api/v1/clients"
import { endpoints } from "@/app/api/v1/endpoints"
import { CodePanel } from "@/components/code/code-panel"
import { Link } from "@/components/ui/link"
import { texts } from "@/lib/api/documents/skill"
import { env } from "@/lib/env"
import { keyPlaceholder } from "@/lib/keys/choices"
import { kinds, type Surface, surfaces } from "@/lib/surfaces"
import { DocumentPage } from "../document-page"
import { EndpointSection } from "../endpoint-section"
import { Code } from "../prose"
import { Section } from "../section"

type Props = PageProps<"/docs/[surface]">

export async function generateMetadata({ params }: Props): Promise<Metadata> {
  const { title, description } = texts[await surfaceOf(params)]
  return { title, description }
}

export default async function SurfacePage({ params }: Props) {
  const surface = await surfaceOf(params)
  const { title, reads } = texts[surface]
  const { prefix, page, api } = kinds[surface]
  const own = (await endpoints()).filter((endpoint) => endpoint.surface === surface)
  return (
    <DocumentPage path={`/docs/${surface}`} hasCode>
      <header className="grid max-w-2xl gap-1 pt-6 pb-2">
        <h1 className="text-title">{title}</h1>
        <p className="text-muted">{reads}</p>
        <p className="text-muted">
          The endpoints are under <Code>{api}</Code> and require a key that starts with <Code>{prefix}</Code>. Create
          one at{" "}
          <Link href={page} className="font-medium whitespace-nowrap text-accent hover:underline">
            {page}
          </Link>
          . The{" "}
          <a href="/docs" className="font-medium text-accent hover:underline">
            guides
          </a>{" "}
          explain authentication, pagination and errors.
        </p>
      </header>
      {own.map((endpoint) => (
        <EndpointSection key={endpoint.path} endpoint={endpoint} baseUrl={env().BASE_URL} />
      ))}
      {(await clientsOf(surface)).map(({ path, section, setups }) => (
        <Section
          key={path}
          {...section}
          code={setups.map(({ title, text }) => (
            <CodePanel key={title} title={title} code={text.replace(keyPlaceholder, `${prefix}…`)} />
          ))}
        />
      ))}
    </DocumentPage>
  )
}

async function surfaceOf(params: Props["params"]): Promise<Surface> {
  const { surface } = await params
  return surfaces.find((name) => name === surface) ?? notFound()
}
