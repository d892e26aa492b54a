import { Form } from "@/components/form/form"
import { Button } from "@/components/ui/button"
import { socialProviders } from "@/lib/sign-in/providers/providers"
import { signInThrough } from "./actions"

export function ProviderButtons({ callbackUrl }: { callbackUrl: string }) {
  const providers = socialProviders()
  if (providers.length === 0) return null
  return (
    <Form action={signInThrough} className="grid gap-2">
      <input type="hidden" name="callbackUrl" value={callbackUrl} />
      {providers.map(({ id, name }) => (
        <Button key={id} type="submit" name="provider" value={id}>
          Continue with {name}
        </Button>
      ))}
    </Form>
  )
}
