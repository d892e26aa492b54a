import { chosenTheme } from "@/lib/platform/http/theme"

/** `npm run screens` makes the screenshots. */
export async function Shot({ name, alt }: { name: string; alt: string }) {
  const theme = await chosenTheme()
  const file = (scheme: "light" | "dark") => `/screens/${name}-${scheme}.webp`
  return (
    <picture>
      {theme === "system" && <source srcSet={file("dark")} media="(prefers-color-scheme: dark)" />}
      <img
        src={file(theme === "dark" ? "dark" : "light")}
        alt={alt}
        width={1440}
        height={900}
        className="h-auto w-full rounded-xl border border-line shadow-2xl"
      />
    </picture>
  )
}
