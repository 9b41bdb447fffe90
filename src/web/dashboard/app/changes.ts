import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type Method, requestApi } from '../api/request.ts'
import { useMode } from './session.ts'
import { useToast } from './toasts.tsx'

/**
 * Something done through the API in the page's mode: afterwards everything shown is read again, and a word says
 * that it was done.
 */
export function useChange<Input, Output>(
  request: (input: Input) => { method?: Method; path: string; body?: unknown },
  options: { done?: string | ((output: Output) => string); onDone?: (output: Output) => void } = {},
) {
  const mode = useMode()
  const queries = useQueryClient()
  const toast = useToast()
  return useMutation({
    mutationFn: (input: Input) => {
      const { method = 'POST', path, body } = request(input)
      return requestApi<Output>(mode, method, path, body === undefined ? {} : { body })
    },
    onSuccess: (output) => {
      if (options.done !== undefined) {
        toast(typeof options.done === 'string' ? options.done : options.done(output))
      }
      options.onDone?.(output)
      return queries.invalidateQueries({ queryKey: [mode] })
    },
  })
}

/** The same for what belongs to people: sign-ins, members, second factors. */
export function usePeopleChange<Input, Output = unknown>(
  work: (input: Input) => Promise<Output>,
  options: { done?: string; onDone?: (output: Output) => void } = {},
) {
  const queries = useQueryClient()
  const toast = useToast()
  return useMutation({
    mutationFn: work,
    onSuccess: (output) => {
      if (options.done !== undefined) toast(options.done)
      options.onDone?.(output)
      return queries.invalidateQueries({ queryKey: ['people'] })
    },
  })
}
