import { type KeyFamily, keyFamilyOfNetwork, NETWORKS, type Network } from '../../core/assets.ts'
import type { Queryable } from '../../postgres/pool.ts'
import { ORPHANED } from './sweeps.ts'

/** Payouts or sweeps of a network that have waited too long in one state. */
export type LongWait = {
  readonly network: Network
  /**
   * Of payouts and sweeps their status; `next_in_line`: the hot wallet's next transaction, for which all behind it wait;
   * `behind_a_gap`: the first that is signed, where nothing has its next nonce.
   */
  readonly state: 'approved' | 'submitted' | 'planned' | 'done' | 'next_in_line' | 'behind_a_gap'
  readonly count: number
  /** Of the one that has waited longest: the payout, the sweep, or of a program's payment the authorization. */
  readonly oldestId: string
  readonly since: Date
}

/**
 * What is in one state since before the moment given for its network. An orphaned sweep waits for the next
 * payout, and is reported only once it is in a block. Served by payout_under_way, sweep_under_way and account_nonce's key.
 */
async function listLongWaits(
  db: Queryable,
  before: { readonly usual: ReadonlyMap<Network, Date>; readonly nextInLine: Date },
): Promise<LongWait[]> {
  const { rows } = await db.query<LongWait>(
    `with usual as (select * from unnest($1::text[], $2::timestamptz[]) as u (network, before)),
     waiting as (
       select p.network, p.status as state, p.id, coalesce(p.submitted_at, p.approved_at) as since
       from payout p where p.status in ('approved', 'submitted')
       union all
       select s.network, s.status, s.id, s.created_at from sweep s
       where s.final_at is null and (s.status = 'done' or (s.status = 'planned' and not ${ORPHANED}))),
     late as (
       select w.* from waiting w join usual u on u.network = w.network where w.since < u.before
       union all
       select h.network, case when n.nonce = h.nonce then 'next_in_line' else 'behind_a_gap' end, n.intent_id, signed.since
       from hot_wallet h
       join lateral (select * from account_nonce a where a.network = h.network and a.sender = h.address
         and a.nonce >= h.nonce order by a.nonce limit 1) n on true
       cross join lateral (select min(created_at) as since from (
         select created_at from payout_transaction t where t.merchant_id = n.merchant_id and t.payout_id = n.intent_id
         union all
         select created_at from sweep_transaction t where t.merchant_id = n.merchant_id and t.sweep_id = n.intent_id
         union all
         select created_at from x402_transaction t
         where t.merchant_id = n.merchant_id and t.authorization_id = n.intent_id) t) signed
       where signed.since < $3)
     select network, state, count(*)::int as count, (array_agg(id order by since, id))[1] as "oldestId", min(since) as since
     from late group by network, state order by network, state`,
    [[...before.usual.keys()], [...before.usual.values()], before.nextInLine],
  )
  return rows
}

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

/** Usual maximum time until a payout or sweep reaches its next state, by family of chains. */
const USUAL_MS: { readonly [family in KeyFamily]: number } = {
  bitcoin: 6 * HOUR_MS,
  litecoin: 3 * HOUR_MS,
  evm: HOUR_MS,
  solana: HOUR_MS / 2,
}
/** By then what is next in a hot wallet's line was signed three times, each time for what blocks cost. */
const NEXT_IN_LINE_MS = 20 * MINUTE_MS

/** What has waited longer than is usual, on all networks: payouts, sweeps, and what holds up a hot wallet's whole line. */
export function readLongWaits(db: Queryable, now: Date): Promise<LongWait[]> {
  const before = (ms: number) => new Date(now.getTime() - ms)
  const usual = new Map<Network, Date>(
    NETWORKS.map((network) => [network, before(USUAL_MS[keyFamilyOfNetwork(network)])]),
  )
  return listLongWaits(db, { usual, nextInLine: before(NEXT_IN_LINE_MS) })
}
