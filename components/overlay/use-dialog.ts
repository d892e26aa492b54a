import { type ComponentType, useCallback, useState } from "react"

/**
 * A dialog whose code is loaded when one of its buttons is likely to be pressed.
 * @param load must be the same at every render
 */
export function useDialog<Properties, Opened>(load: () => Promise<ComponentType<Properties>>) {
  const [Dialog, setDialog] = useState<ComponentType<Properties>>()
  const [opened, setOpened] = useState<Opened>()
  const open = async (what: Opened) => {
    setOpened(what)
    try {
      const loaded = await load()
      setDialog(() => loaded)
    } catch (error) {
      setOpened(undefined)
      throw error
    }
  }
  return {
    /** Missing until it was opened. */
    Dialog,
    /** What it was opened with; missing while it is closed. */
    opened,
    open,
    close: useCallback(() => setOpened(undefined), []),
    preload: () => void load(),
  }
}
