import { lazy, Suspense, useEffect, useState } from 'react'
import { Button } from '../parts/button.tsx'

const SearchEverything = lazy(async () => {
  const { SearchEverything } = await import('./search-everything.tsx')
  return { default: SearchEverything }
})

const isMac = navigator.userAgent.includes('Mac')

/** Opens the search, also by Ctrl K or ⌘K from anywhere. */
export function SearchButton() {
  const [isOpen, setIsOpen] = useState(false)
  useEffect(() => {
    const open = (event: KeyboardEvent) => {
      if (event.key !== 'k' || !(event.metaKey || event.ctrlKey)) return
      // Over another window it would hide what that one asks.
      if (document.querySelector('dialog[open]') !== null) return
      event.preventDefault()
      setIsOpen(true)
    }
    window.addEventListener('keydown', open)
    return () => window.removeEventListener('keydown', open)
  }, [])
  return (
    <>
      <Button
        icon="search"
        aria-label="Search everything"
        aria-keyshortcuts="Meta+K Control+K"
        onClick={() => setIsOpen(true)}
      >
        <span className="wide-only">Search</span>{' '}
        <kbd className="wide-only quiet">{isMac ? '⌘K' : 'Ctrl K'}</kbd>
      </Button>
      {isOpen ? (
        <Suspense fallback={null}>
          <SearchEverything onClose={() => setIsOpen(false)} />
        </Suspense>
      ) : null}
    </>
  )
}
