import type { Context, MiddlewareHandler } from 'hono'
import { bodyLimit } from 'hono/body-limit'

/**
 * Answers by `refuse` to a body of more than `bytesMax`, and to one that its caller cut off: Hono reads a body of
 * undeclared length here, and what the socket says then would be taken for a fault of ours.
 */
export function limitBody(
  bytesMax: number,
  refuse: (c: Context) => Response | Promise<Response>,
): MiddlewareHandler {
  const limit = bodyLimit({ maxSize: bytesMax, onError: refuse })
  return async (c, next) => {
    let isRead = false
    try {
      return await limit(c, () => {
        isRead = true
        return next()
      })
    } catch (error) {
      if (isRead) throw error
      return refuse(c)
    }
  }
}
