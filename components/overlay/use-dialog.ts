import { type ComponentType, useCallback, useState } from "react"

/** @param load must be the same function at every render */
export function useDialog<Properties, Opened>(load: () => Promise<ComponentType<Properties>>) {
  const [Dialog, setDialog] = useState<ComponentType<Properties>>()
  const [opened, setOpened] = useState<Opened>()
  const open = useCallback(
    async (what: Opened) => {
      setOpened(what)
      try {
        const loaded = await load()
        setDialog(() => loaded)
      } catch (error) {
        setOpened(undefined)
        throw error
      }
    },
    [load],
  )
  return {
    Dialog,
    opened,
    open,
    close: useCallback(() => setOpened(undefined), []),
    preload: () => void load(),
  }
}
