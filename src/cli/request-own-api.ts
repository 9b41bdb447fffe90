import { z } from 'zod'
import type { Config } from '../config/config.ts'
import { urlHost } from '../runtime/url-host.ts'

const REQUEST_TIMEOUT_MS = 10_000

export const apiErrorShape = z.object({ error: z.object({ code: z.string(), message: z.string() }) })

/** A request to the API of this machine, as a merchant's server makes it. */
export async function requestOwnApi(
  config: Config,
  apiKey: string,
  method: string,
  path: string,
  body?: object,
): Promise<{ status: number; body: unknown }> {
  const response = await fetch(`http://${urlHost(config.host)}:${config.port}${path}`, {
    method,
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
  })
  const answer: unknown = await response.json()
  return { status: response.status, body: answer }
}
