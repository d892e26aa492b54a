import localFont from "next/font/local"

// Latin characters; the system's fonts have all others. Only the first font is preloaded.

const geist = localFont({
  src: "../../node_modules/@fontsource-variable/geist/files/geist-latin-wght-normal.woff2",
  weight: "100 900",
  variable: "--font-geist",
  // A browser that has not loaded it when it first draws the page keeps the system's font there, so that nothing moves.
  display: "optional",
})

const geistMono = localFont({
  src: "../../node_modules/@fontsource-variable/geist-mono/files/geist-mono-latin-wght-normal.woff2",
  weight: "100 900",
  variable: "--font-geist-mono",
  preload: false,
  // Next adjusts Arial, which is no monospaced font: see app/globals.css.
  adjustFontFallback: false,
})

/** Classes of the `html` element, which define the variables of app/globals.css. */
export const fonts = `${geist.variable} ${geistMono.variable}`
