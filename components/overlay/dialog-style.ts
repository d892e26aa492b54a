export const backdropStyle =
  "fixed inset-0 z-30 bg-veil motion-safe:transition-opacity motion-safe:duration-150 data-starting-style:opacity-0"

export const dialogFooterStyle =
  "sticky -bottom-5 z-10 -mx-5 -mb-5 flex flex-wrap justify-end gap-2 border-t border-line bg-panel px-5 py-3"

export const popupStyle =
  "fixed z-40 grid max-h-[calc(100dvh-2rem)] w-[calc(100vw-2rem)] gap-4 overflow-y-auto rounded-xl border border-line bg-panel p-5 text-ink shadow-2xl inset-x-0 top-1/2 mx-auto -translate-y-1/2 motion-safe:transition-opacity motion-safe:duration-100 data-starting-style:opacity-0"
