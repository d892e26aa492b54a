import { Form } from "@/components/form/form"
import type { Theme } from "@/lib/platform/http/theme"
import { setTheme } from "./actions"

const labels: Record<Theme, string> = { system: "System", light: "Light", dark: "Dark" }

export function ThemeForm({ chosen }: { chosen: Theme }) {
  return (
    <Form action={setTheme} className="flex max-w-60 gap-1 rounded-lg bg-sunken p-1">
      {Object.entries(labels).map(([theme, label]) => (
        <button
          key={theme}
          type="submit"
          name="theme"
          value={theme}
          aria-pressed={theme === chosen}
          className="h-8 grow rounded-md px-2 font-medium text-muted hover:text-ink aria-pressed:bg-panel aria-pressed:text-ink aria-pressed:shadow-sm"
        >
          {label}
        </button>
      ))}
    </Form>
  )
}
