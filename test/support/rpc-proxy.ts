import { createServer, type IncomingMessage, type Server } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'

export type RpcCall = { readonly method: string; readonly params: readonly unknown[] }
/** Gets the node's own result and gives what the caller is told instead. */
export type Lie = (result: unknown, call: RpcCall) => unknown

export type RpcProxy = {
  readonly url: string
  /** Methods called so far, in order. */
  readonly calls: string[]
  /** Answers to these methods go through the lie from now on. */
  lie(method: string, lie: Lie): void
  /** Waits this long before each answer. */
  delay(ms: number): void
  tellTheTruth(): void
  close(): Promise<void>
}

/** Stands between an adapter and a real node, counts calls, and lies when told to. */
export async function startRpcProxy(nodeUrl: string): Promise<RpcProxy> {
  const target = new URL(nodeUrl)
  const lies = new Map<string, Lie>()
  const calls: string[] = []
  let delayMs = 0
  const answer = async (request: IncomingMessage): Promise<{ status: number; body: string }> => {
    const text = (await buffer(request)).toString('utf8')
    const call = JSON.parse(text) as RpcCall
    calls.push(call.method)
    if (delayMs > 0) await pause(delayMs)
    const headers = { authorization: request.headers.authorization ?? '', 'content-type': 'application/json' }
    const response = await fetch(target.origin, { method: 'POST', headers, body: text })
    const body = await response.text()
    const lie = lies.get(call.method)
    if (lie === undefined) return { status: response.status, body }
    const told = JSON.parse(body) as { result: unknown }
    return { status: 200, body: JSON.stringify({ error: null, result: lie(told.result, call) }) }
  }
  const server: Server = createServer((request, response) => {
    answer(request).then(
      ({ status, body }) => response.writeHead(status).end(body),
      (error: unknown) => response.destroy(error instanceof Error ? error : undefined),
    )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the proxy has no port')
  return {
    url: `http://${target.username}:${target.password}@127.0.0.1:${address.port}`,
    calls,
    lie: (method, lie) => lies.set(method, lie),
    delay: (ms) => {
      delayMs = ms
    },
    tellTheTruth: () => {
      lies.clear()
      delayMs = 0
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
