const sizes = {
  small: { pixels: 24, style: "size-6 text-[0.625rem]" },
  large: { pixels: 36, style: "size-9 text-sm" },
} as const

type Shown = { id: string; name: string; picture: string | null }

/** Has no alternative text, because the name stands beside it. */
export function Avatar({ id, name, picture, size = "small" }: Shown & { size?: keyof typeof sizes }) {
  const { pixels, style } = sizes[size]
  if (picture) {
    return (
      // biome-ignore lint/performance/noImgElement: the picture already has the size that is shown
      <img
        src={`/pictures/${picture}`}
        alt=""
        width={pixels}
        height={pixels}
        decoding="async"
        className={`shrink-0 rounded-full ${style}`}
      />
    )
  }
  return (
    <span
      aria-hidden="true"
      className={`grid shrink-0 place-items-center rounded-full font-medium tracking-normal text-white ${style}`}
      style={{ background: `oklch(0.5 0.1 ${hueOf(id)})` }}
    >
      {initialsOf(name)}
    </span>
  )
}

/** The end of an id is random. */
function hueOf(id: string): number {
  return Number.parseInt(id.slice(-4), 16) % 360
}

function initialsOf(name: string): string {
  const letters = name.split(/\s+/).flatMap((word) => /[\p{L}\p{N}]/u.exec(word)?.[0].toUpperCase() ?? [])
  return [...new Set([0, letters.length - 1])].map((index) => letters[index] ?? "").join("") || "?"
}
