import { ChainUnavailable } from '../../src/chain/adapter.ts'
import { SOLANA_CODES, SolanaCallFailed, type SolanaRpc } from '../../src/chain/solana/solana-rpc.ts'
import { Crash } from '../support/payout-history.ts'
import type { Random } from '../support/random.ts'
import { lever } from '../support/solana-payer.ts'

/** A look of a tracker makes about so many calls. */
const CALLS_MAX = 14
const BEHIND_MAX = 4

export const FAULTS = [
  'none',
  'none',
  /** The caller dies before or after one call. */
  'dies before',
  'dies after',
  /** One call, or its answer, is lost on the way. */
  'unheard',
  'unanswered',
  /** Some of what is sent is taken, and the answer is an error; or is not taken, and the answer is a signature. */
  'sent, though an error',
  'sent, though refused',
  'not sent, though no error',
  'refused',
  /** Of several nodes behind one address some are slots behind. */
  'behind',
  /** It has dropped what happened, but for the accounts as they are. */
  'forgetful',
] as const

const refusal = () =>
  new SolanaCallFailed(SOLANA_CODES.preflightFailure, 'Transaction simulation failed: BlockhashNotFound', {})

export type Fault = (typeof FAULTS)[number]

/**
 * A node as the tracker finds it that lives for one look: it answers as the real one does, but for one kind of fault.
 * `lag` is what its finalized blocks are behind the newest.
 */
export function brokenSolanaNode(
  rpc: SolanaRpc,
  at: { readonly url: string; readonly lag: number; readonly random: Random; readonly fault: Fault },
): SolanaRpc {
  const { url, lag, random, fault } = at
  const fatalCall = 1 + random.below(CALLS_MAX)
  const behind = 1 + random.below(BEHIND_MAX)
  let calls = 0
  let last: Promise<unknown> = Promise.resolve()

  /** Answered as of some slots ago; `statuses` alone has no commitment. */
  const fromBehind = async (name: string, ask: () => Promise<unknown>): Promise<unknown> => {
    if (name === 'sendTransaction') throw refusal()
    await lever(url, 'sandbox_setlag', [behind, lag + behind])
    try {
      const answer = await ask()
      if (name !== 'statuses') return answer
      const tip = await rpc.slot('confirmed')
      const known = answer as Awaited<ReturnType<SolanaRpc['statuses']>>
      return new Map([...known].filter(([, { slot }]) => slot <= tip))
    } finally {
      await lever(url, 'sandbox_setlag', [0, lag])
    }
  }
  const forgotten = (name: string, ask: () => Promise<unknown>): unknown => {
    if (name === 'statuses') return new Map()
    if (name === 'signaturesFor') return []
    if (name === 'transaction') return null
    if (name === 'sendTransaction') throw refusal()
    return ask()
  }
  const send = async (ask: () => Promise<unknown>): Promise<unknown> => {
    if (fault === 'refused') throw refusal()
    if (fault === 'not sent, though no error') return
    await ask()
    if (fault === 'sent, though refused') throw refusal()
    throw new SolanaCallFailed(-32_603, 'Internal error', {})
  }
  const answer = async (name: string, isFatal: boolean, ask: () => Promise<unknown>): Promise<unknown> => {
    if (fault === 'dies before' && isFatal) throw new Crash(`before ${name}`)
    if (fault === 'unheard' && isFatal) throw new ChainUnavailable('it cannot be reached')
    const strikes = random.chance(0.5)
    if (fault === 'behind' && strikes) return fromBehind(name, ask)
    if (fault === 'forgetful') return forgotten(name, ask)
    if (name === 'sendTransaction' && strikes && SENDING.has(fault)) return send(ask)
    const told = await ask()
    if (fault === 'dies after' && isFatal) throw new Crash(`after ${name}`)
    if (fault === 'unanswered' && isFatal) throw new ChainUnavailable('a timeout')
    return told
  }
  return new Proxy(rpc, {
    get: (target, name) => {
      const method: unknown = Reflect.get(target, name)
      if (typeof method !== 'function') return method
      return (...args: unknown[]) => {
        calls += 1
        const isFatal = calls === fatalCall
        // One after the other, so that a seed always tells the same history.
        const turn = last.then(() => answer(String(name), isFatal, () => method.apply(target, args)))
        last = turn.catch(() => {})
        return turn
      }
    },
  })
}

const SENDING: ReadonlySet<string> = new Set([
  'sent, though an error',
  'sent, though refused',
  'not sent, though no error',
  'refused',
])
