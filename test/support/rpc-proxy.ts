import { createServer, type IncomingMessage, type Server } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'

export type RpcCall = { readonly id: unknown; readonly method: string; readonly params: readonly unknown[] }
type RpcAnswer = { readonly id: unknown; readonly result: unknown; readonly error?: unknown }
/**
 * Gets the node's own result and gives what the caller is told instead; what it throws becomes the node's error, with
 * the `code` that it has.
 */
export type Lie = (result: unknown, call: RpcCall) => unknown

export type RpcProxy = {
  readonly url: string
  /** Methods called so far, in order, each call of a batch by itself. */
  readonly calls: string[]
  /** Requests so far, each with one call or a batch. */
  readonly requests: () => number
  /** Bytes of answers so far, headers left out. */
  readonly answeredBytes: () => number
  /** From now on batches are answered as by what serves none. */
  refuseBatches(): void
  /** From now on this other node answers, at the same address and without a pause. */
  forwardTo(nodeUrl: string): void
  /** Answers to these methods go through the lie from now on. */
  lie(method: string, lie: Lie): void
  /** From now on the node is asked with these parameters in the place of those of such a call. */
  askInstead(method: string, paramsOf: (call: RpcCall) => readonly unknown[]): void
  /** Does this once, before the node hears of the next call of this method. */
  before(method: string, happen: () => Promise<void>): void
  /** Calls that this holds of are refused with HTTP 403, and the node never hears of them. */
  forbid(isForbidden: (call: RpcCall) => boolean): void
  /** The last answer to this method is missing from each batch. */
  dropFromBatches(method: string): void
  /** Each n-th request is refused with HTTP 429, and the node never hears of it. */
  refuseEvery(few: number): void
  /** Waits this long before each answer. */
  delay(ms: number): void
  /** Holds back every answer, the node's own look at the question included, until `resume`. */
  hold(): void
  resume(): void
  /** From now on no call of this method is answered. */
  stall(method: string): void
  /** From now on nothing is answered; all that waits is cut off once the truth is reported again. */
  hang(): void
  /** Hangs up in the middle of each answer. */
  hangUp(): void
  /** Ends lies, other questions, hanging, stalled methods, refusals, missing answers, delays and hanging up. */
  tellTheTruth(): void
  close(): Promise<void>
}

/** Stands between an adapter and a real node, counts calls, and lies when told to. */
export async function startRpcProxy(nodeUrl: string): Promise<RpcProxy> {
  let target = new URL(nodeUrl)
  /** Another node's credentials; the caller has those of the first. */
  let credentials: string | null = null
  const lies = new Map<string, Lie>()
  const others = new Map<string, (call: RpcCall) => readonly unknown[]>()
  const stalled = new Set<string>()
  const happenings = new Map<string, () => Promise<void>>()
  const calls: string[] = []
  let requests = 0
  let answeredBytes = 0
  let refusesBatches = false
  let isForbidden: (call: RpcCall) => boolean = () => false
  let dropped: string | null = null
  let refusedEach = Number.POSITIVE_INFINITY
  let delayMs = 0
  let isHangingUp = false
  /** Ends the calls that hang; null where none does. */
  let hung: ((reason: Error) => void)[] | null = null
  let gate: { readonly opened: Promise<void>; readonly open: () => void } | null = null
  const answer = async (request: IncomingMessage): Promise<{ status: number; body: string }> => {
    const text = (await buffer(request)).toString('utf8')
    const asked = JSON.parse(text) as RpcCall | RpcCall[]
    requests += 1
    for (const { method } of [asked].flat()) calls.push(method)
    if (requests % refusedEach === 0) return { status: 429, body: 'too many requests' }
    if ([asked].flat().some(isForbidden)) return { status: 403, body: 'not part of this plan' }
    if (delayMs > 0) await pause(delayMs)
    await gate?.opened
    if (hung !== null) await new Promise<never>((_resolve, reject) => hung?.push(reject))
    if ([asked].flat().some(({ method }) => stalled.has(method))) await new Promise<never>(() => {})
    if (Array.isArray(asked) && refusesBatches) return { status: 400, body: 'one call at a time' }
    for (const { method } of [asked].flat()) {
      const happen = happenings.get(method)
      happenings.delete(method)
      await happen?.()
    }
    const authorization = credentials ?? request.headers.authorization ?? ''
    const headers = { authorization, 'content-type': 'application/json' }
    const instead = (call: RpcCall) => ({ ...call, params: others.get(call.method)?.(call) ?? call.params })
    const forwarded = JSON.stringify(Array.isArray(asked) ? asked.map(instead) : instead(asked))
    const response = await fetch(target.origin, { method: 'POST', headers, body: forwarded })
    const body = await response.text()
    if (Array.isArray(asked) && asked.at(-1)?.method === dropped) {
      return { status: response.status, body: JSON.stringify((JSON.parse(body) as unknown[]).slice(0, -1)) }
    }
    if (![asked].flat().some(({ method }) => lies.has(method))) return { status: response.status, body }
    if (!Array.isArray(asked)) {
      const told = tell(lies, JSON.parse(body) as RpcAnswer, asked)
      return { status: told.error === null ? 200 : 500, body: JSON.stringify(told) }
    }
    const answers = JSON.parse(body) as RpcAnswer[]
    const told = answers.map((answer) => {
      const call = asked.find(({ id }) => id === answer.id)
      return call === undefined ? answer : tell(lies, answer, call)
    })
    return { status: response.status, body: JSON.stringify(told) }
  }
  const server: Server = createServer((request, response) => {
    answer(request).then(
      ({ status, body }) => {
        answeredBytes += Buffer.byteLength(body)
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
    requests: () => requests,
    answeredBytes: () => answeredBytes,
    refuseBatches: () => {
      refusesBatches = true
    },
    forwardTo: (other) => {
      target = new URL(other)
      const { username, password } = target
      credentials = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
    },
    lie: (method, lie) => lies.set(method, lie),
    askInstead: (method, paramsOf) => others.set(method, paramsOf),
    before: (method, happen) => happenings.set(method, happen),
    forbid: (is) => {
      isForbidden = is
    },
    dropFromBatches: (method) => {
      dropped = method
    },
    refuseEvery: (few) => {
      refusedEach = few
    },
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
    stall: (method) => stalled.add(method),
    hang: () => {
      hung ??= []
    },
    hangUp: () => {
      isHangingUp = true
    },
    tellTheTruth: () => {
      lies.clear()
      others.clear()
      stalled.clear()
      isForbidden = () => false
      for (const end of hung ?? []) end(new Error('the node came back'))
      hung = null
      dropped = null
      refusedEach = Number.POSITIVE_INFINITY
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

/** The answer as it was, unless the call's method is lied about. */
function tell(lies: ReadonlyMap<string, Lie>, { id, result, error }: RpcAnswer, call: RpcCall): RpcAnswer {
  const lie = lies.get(call.method)
  if (lie === undefined) return { id, result, error }
  try {
    // Solana's answers have either a result or an error, Bitcoin's have both names.
    return error === undefined
      ? { id, result: lie(result, call) }
      : { id, result: lie(result, call), error: null }
  } catch (failure) {
    const message = failure instanceof Error ? failure.message : String(failure)
    const code = failure instanceof Error && 'code' in failure ? failure.code : RPC_INTERNAL_ERROR
    return { id, result: null, error: { code, message } }
  }
}
