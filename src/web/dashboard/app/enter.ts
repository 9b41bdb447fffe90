import { useQueryClient } from '@tanstack/react-query'
import { useRouter } from '@tanstack/react-router'

/**
 * Goes on after a sign-in, to where the person was led away from. Only a path of ours will do: `//elsewhere` and
 * the like lead home.
 */
export function useEnter(): (next?: string) => Promise<void> {
  const queries = useQueryClient()
  const router = useRouter()
  return async (next) => {
    queries.clear()
    const url = next !== undefined && /^\/[a-z]/.test(next) ? new URL(next, window.location.origin) : null
    if (url === null || url.origin !== window.location.origin) return router.navigate({ to: '/', search: {} })
    return router.navigate({
      to: url.pathname as '/',
      search: Object.fromEntries(url.searchParams),
    })
  }
}
