import './styles/base.css'
import './styles/shell.css'
import './styles/parts.css'
import { MutationCache, QueryCache, QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { noteHere } from './api/here.ts'
import { Problem } from './api/request.ts'
import { Toasts } from './app/toasts.tsx'
import { makeRouter } from './router.tsx'

const RETRIES_MAX = 2

/** Sign-in and its cookie live at one address alone; whoever came by another name of this server goes there. */
function isAtOwnAddress(): boolean {
  const own = document.querySelector('meta[name=paylink-origin]')?.getAttribute('content') ?? ''
  if (own === '' || own === window.location.origin) return true
  const { pathname, search, hash } = window.location
  window.location.replace(own + pathname + search + hash)
  return false
}

function start(): void {
  // The cookie ended, or its shop is theirs no more: the way in leads back here.
  const onError = (error: unknown): void => {
    if (!(error instanceof Problem) || error.status !== 401 || !error.code.startsWith('api_key')) return
    void queries.invalidateQueries({ queryKey: ['people'] }).then(() => router.invalidate())
  }
  const queries = new QueryClient({
    queryCache: new QueryCache({ onError }),
    mutationCache: new MutationCache({ onError }),
    defaultOptions: {
      // A request without a network fails and says so, instead of waiting for one unseen.
      mutations: { networkMode: 'always' },
      queries: {
        networkMode: 'always',
        // A refusal stays one; only what did not answer is asked again.
        retry: (failures, error) =>
          failures < RETRIES_MAX && error instanceof Problem && (error.status === 0 || error.status >= 500),
      },
    },
  })
  const router = makeRouter(queries)
  const container = document.getElementById('root')
  if (container === null) throw new Error('the page has no root')
  createRoot(container).render(
    <StrictMode>
      <QueryClientProvider client={queries}>
        <Toasts>
          <RouterProvider router={router} />
        </Toasts>
      </QueryClientProvider>
    </StrictMode>,
  )
}

if (isAtOwnAddress()) {
  noteHere()
  start()
}
