export const navigationStyle =
  "flex h-9 items-center gap-2 rounded-md px-2 font-medium text-muted hover:bg-sunken hover:text-ink sm:h-8 lg:h-6.25 aria-[current=page]:bg-current/10 aria-[current=page]:text-inherit"
