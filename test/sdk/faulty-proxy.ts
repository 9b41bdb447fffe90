import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'

/**
 * What becomes of one request on its way: `refuse` ends the connection before the server hears of it, `lose` after it has
 * answered, `cut` in the middle of the answer's body; `hang` never answers; an object is answered by the proxy itself.
 */
export type Fault =
  | 'pass'
  | 'refuse'
  | 'lose'
  | 'cut'
  | 'hang'
  | {
      readonly status: number
      readonly headers?: { readonly [name: string]: string }
      readonly body?: string
    }

export type Seen = {
  readonly method: string
  readonly path: string
  readonly key: string | undefined
  readonly atMs: number
}

export type FaultyProxy = {
  readonly url: string
  /** The fates of the requests to come, in order; all after them pass. */
  readonly faults: Fault[]
  readonly seen: Seen[]
  close(): Promise<void>
}

/** A proxy in front of a server, with a network as bad as asked for. */
export async function startFaultyProxy(target: string): Promise<FaultyProxy> {
  const faults: Fault[] = []
  const seen: Seen[] = []
  const server = createServer((request, response) => {
    const { method = '', url = '', headers } = request
    const key = headers['idempotency-key']
    seen.push({ method, path: url, key: Array.isArray(key) ? key.join() : key, atMs: performance.now() })
    handle(target, faults.shift() ?? 'pass', request, response).catch(() => response.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    faults,
    seen,
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

async function handle(
  target: string,
  fault: Fault,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const body = await buffer(request)
  if (typeof fault === 'object') {
    response.writeHead(fault.status, { 'content-type': 'text/html', ...fault.headers }).end(fault.body ?? '')
    return
  }
  if (fault === 'hang') return
  if (fault === 'refuse') {
    response.destroy()
    return
  }
  const headers = Object.entries(request.headers).flatMap(([name, value]): [string, string][] =>
    typeof value !== 'string' || ['host', 'connection', 'content-length'].includes(name)
      ? []
      : [[name, value]],
  )
  const answer = await fetch(target + (request.url ?? ''), {
    method: request.method ?? 'GET',
    headers,
    ...(body.length === 0 ? {} : { body: new Uint8Array(body) }),
  })
  const bytes = Buffer.from(await answer.arrayBuffer())
  if (fault === 'lose') {
    response.destroy()
    return
  }
  const kept = [...answer.headers].filter(([name]) => !['connection', 'transfer-encoding'].includes(name))
  response.writeHead(answer.status, { ...Object.fromEntries(kept), 'content-length': String(bytes.length) })
  if (fault === 'cut') {
    response.write(bytes.subarray(0, bytes.length / 2), () => response.destroy())
    return
  }
  response.end(bytes)
}
