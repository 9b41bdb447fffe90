import { useCallback, useEffect, useRef, useState } from 'react'

type Prove = () => Promise<boolean>

/**
 * A window that requests wait for: those that ask at once wait for the one window, and are repeated after it. `listen`
 * sets who asks; where the window's page is left, whoever waits is refused.
 */
export function useProof(listen: (prove: Prove | null) => void, isNeedless?: Prove) {
  const [isNeeded, setIsNeeded] = useState(false)
  const waiting = useRef<((proved: boolean) => void)[]>([])
  const settle = useCallback((proved: boolean) => {
    setIsNeeded(false)
    for (const resolve of waiting.current.splice(0)) resolve(proved)
  }, [])
  useEffect(() => {
    listen(async () => {
      if (isNeedless !== undefined && (await isNeedless())) return false
      return new Promise((resolve) => {
        waiting.current.push(resolve)
        setIsNeeded(true)
      })
    })
    return () => {
      listen(null)
      settle(false)
    }
  }, [listen, isNeedless, settle])
  return { isNeeded, settle }
}
