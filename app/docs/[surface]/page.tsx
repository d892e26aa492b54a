import type { Metadata } from "next"
import { notFound } from "next/navigation"
import { endpoints } from "@/app/api/v1/endpoints"
import { LanguageChoice } from "@/components/code/language-choice"
import { Link } from "@/components/ui/link"
import { Breakable } from "@/components/values/breakable"
import { operationId } from "@/lib/api/documents/document"
import { texts } from "@/lib/api/documents/skill"
import { env } from "@/lib/env"
import { kinds, type Surface, surfaces } from "@/lib/surfaces"
import { WithContents } from "../contents"
import { EndpointSection } from "../endpoint-section"
import { Code } from "../prose"

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
  const contents = own.map((endpoint) => ({
    id: operationId(endpoint),
    label: <Breakable after="/">{endpoint.path.replace("/api/v1", "")}</Breakable>,
  }))
  return (
    <WithContents contents={contents}>
      <div className="group/requests">
        <header className="grid max-w-2xl gap-1 pt-6 pb-2">
          <h1 className="text-xl font-semibold tracking-tight">{title}</h1>
          <p className="text-muted">{reads}</p>
          <p className="text-muted">
            The endpoints are under <Code>{api}</Code> and require a key that starts with <Code>{prefix}</Code>. Create
            one at{" "}
            <Link href={page} className="font-medium text-accent hover:underline">
              {page}
            </Link>
            . See the{" "}
            <Link href="/docs" className="font-medium text-accent hover:underline">
              overview
            </Link>{" "}
            for authentication, pagination and errors.
          </p>
        </header>
        <div className="sticky top-0 z-10 border-b border-line bg-page py-2">
          <LanguageChoice />
        </div>
        {own.map((endpoint) => (
          <EndpointSection key={endpoint.path} endpoint={endpoint} baseUrl={env().BASE_URL} />
        ))}
      </div>
    </WithContents>
  )
}

async function surfaceOf(params: Props["params"]): Promise<Surface> {
  const { surface } = await params
  return surfaces.find((name) => name === surface) ?? notFound()
}
