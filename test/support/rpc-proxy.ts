import { createServer, type IncomingMessage, type Server } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'

export type RpcCall = { readonly method: string; readonly params: readonly unknown[] }
/** Gets the node's own result and gives what the caller is told instead; what it throws becomes the node's error. */
export type Lie = (result: unknown, call: RpcCall) => unknown

export type RpcProxy = {
  readonly url: string
  /** Methods called so far, in order. */
  readonly calls: string[]
  /** Answers to these methods go through the lie from now on. */
  lie(method: string, lie: Lie): void
  /** Waits this long before each answer. */
  delay(ms: number): void
  /** Holds back every answer, the node's own look at the question included, until `resume`. */
  hold(): void
  resume(): void
  /** Hangs up in the middle of each answer. */
  hangUp(): void
  /** Ends lies, delays and hanging up. */
  tellTheTruth(): void
  close(): Promise<void>
}

/** Stands between an adapter and a real node, counts calls, and lies when told to. */
export async function startRpcProxy(nodeUrl: string): Promise<RpcProxy> {
  const target = new URL(nodeUrl)
  const lies = new Map<string, Lie>()
  const calls: string[] = []
  let delayMs = 0
  let isHangingUp = false
  let gate: { readonly opened: Promise<void>; readonly open: () => void } | null = null
  const answer = async (request: IncomingMessage): Promise<{ status: number; body: string }> => {
    const text = (await buffer(request)).toString('utf8')
    const call = JSON.parse(text) as RpcCall
    calls.push(call.method)
    if (delayMs > 0) await pause(delayMs)
    await gate?.opened
    const headers = { authorization: request.headers.authorization ?? '', 'content-type': 'application/json' }
    const response = await fetch(target.origin, { method: 'POST', headers, body: text })
    const body = await response.text()
    const lie = lies.get(call.method)
    if (lie === undefined) return { status: response.status, body }
    const told = JSON.parse(body) as { result: unknown }
    return tell(lie, told.result, call)
  }
  const server: Server = createServer((request, response) => {
    answer(request).then(
      ({ status, body }) => {
        if (!isHangingUp) {
          response.writeHead(status).end(body)
          return
        }
        response.writeHead(status, { 'content-length': body.length })
        response.write(body.slice(0, body.length / 2), () => response.destroy())
      },
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
    hold: () => {
      let open = () => {}
      const opened = new Promise<void>((resolve) => {
        open = resolve
      })
      gate = { opened, open }
    },
    resume: () => {
      gate?.open()
      gate = null
    },
    hangUp: () => {
      isHangingUp = true
    },
    tellTheTruth: () => {
      lies.clear()
      delayMs = 0
      isHangingUp = false
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** Bitcoin Core's code for a failure of its own. */
const RPC_INTERNAL_ERROR = -32603

function tell(lie: Lie, result: unknown, call: RpcCall): { status: number; body: string } {
  try {
    return { status: 200, body: JSON.stringify({ error: null, result: lie(result, call) }) }
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    return {
      status: 500,
      body: JSON.stringify({ error: { code: RPC_INTERNAL_ERROR, message }, result: null }),
    }
  }
}
