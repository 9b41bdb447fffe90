import type { Network } from '../../core/assets.ts'
import { EVM_NETWORK_PATTERN } from '../../core/chain/evm-networks.ts'
import type { Queryable } from '../../postgres/pool.ts'
import type { Sweep } from './sweeps.ts'
import { VAULT_SWEEPS } from './vault-sweeps.ts'

type Kind = 'landed' | 'failed' | 'next_nonce'

/** Keeps the seal of an outcome; one in its place was another watcher's, or refused by the signer. By primary key. */
export async function saveOutcomeSeal(
  db: Queryable,
  outcome: {
    readonly network: string
    readonly kind: Kind
    readonly txid: string
    readonly seal: Buffer
    readonly now: Date
  },
): Promise<void> {
  await db.query(
    `insert into outcome_seal as kept (network, kind, txid, seal, created_at) values ($1, $2, $3, $4, $5)
     on conflict (network, kind, txid) do update set seal = excluded.seal, refused_at = null
     where kept.seal is distinct from excluded.seal or kept.refused_at is not null`,
    [outcome.network, outcome.kind, outcome.txid, outcome.seal, outcome.now],
  )
}

/** The seals of these transactions, by their names. By primary key. */
export async function loadOutcomeSeals(
  db: Queryable,
  of: { readonly network: string; readonly kind: Kind; readonly txids: readonly string[] },
): Promise<ReadonlyMap<string, Buffer>> {
  if (of.txids.length === 0) return new Map()
  const { rows } = await db.query<{ txid: string; seal: Buffer }>(
    'select txid, seal from outcome_seal where network = $1 and kind = $2 and txid = any($3) and seal is not null',
    [of.network, of.kind, of.txids],
  )
  return new Map(rows.map(({ txid, seal }) => [txid, seal]))
}

/** Marks a seal that does not verify, so that it is created again. By primary key. */
export async function refuseOutcomeSeal(
  db: Queryable,
  outcome: { readonly network: string; readonly kind: Kind; readonly txid: string; readonly now: Date },
): Promise<void> {
  await db.query(
    `update outcome_seal set refused_at = $4
     where network = $1 and kind = $2 and txid = $3 and refused_at is null`,
    [outcome.network, outcome.kind, outcome.txid, outcome.now],
  )
}

/** What stood in the books before there were seals. Reads all of them, once in an installation's life. */
export async function listOutcomesFromBefore(
  db: Queryable,
): Promise<{ readonly network: string; readonly kind: Kind; readonly txid: string }[]> {
  const { rows } = await db.query<{ network: string; kind: Kind; txid: string }>(
    'select network, kind, txid from outcome_seal where from_before',
  )
  return rows
}

/** Whether the outcome of this has no seal, or one that the signer has refused. */
const unsealed = (of: { readonly kind: Kind; readonly network: string; readonly txid: string }): string =>
  `not exists (select from outcome_seal o
     where o.network = ${of.network} and o.kind = '${of.kind}' and o.txid = ${of.txid} and o.refused_at is null)`

const UNSEALED_SWEEP = `s.status = 'done' and ${unsealed({ kind: 'landed', network: 's.network', txid: 's.txid' })}`
/** What funded a deposit address too: by it the signer judges what may be taken back from there. */
const INTO_VAULT = `(select network, id, txid, landed from solana_chore where kind = 'fund'
  union all select network, id, txid, landed from ${VAULT_SWEEPS} v)`
const UNSEALED_VAULT_SWEEP = `c.landed and c.txid is not null
  and ${unsealed({ kind: 'landed', network: 'c.network', txid: 'c.txid' })}`
/** Of a payout nothing of which was signed there is nothing to seal. By payout_transaction's key. */
export const UNSEALED_PAYOUT = `p.status = 'failed' and (p.network ~ '${EVM_NETWORK_PATTERN}' or p.network ~ '^solana-') and exists (
    select from payout_transaction t where t.merchant_id = p.merchant_id and t.payout_id = p.id)
  and ${unsealed({
    kind: 'failed',
    network: 'p.network',
    txid: `(select t.txid from payout_transaction t
      where t.merchant_id = p.merchant_id and t.payout_id = p.id order by t.number desc limit 1)`,
  })}`

/** Owner, id and state of rows that record an outcome and have no seal. */
export const UNSEALED_OUTCOMES = `select s.merchant_id, s.network, s.id, 'is called done' as state
    from sweep s where ${UNSEALED_SWEEP}
  union all select null, c.network, c.id, 'is called done' from ${INTO_VAULT} c where ${UNSEALED_VAULT_SWEEP}
  union all select p.merchant_id, p.network, p.id, 'is called failed' from payout p where ${UNSEALED_PAYOUT}`

/** How many of them each network has. Reads every sweep. */
export async function countUnsealedOutcomes(
  db: Queryable,
): Promise<{ readonly network: Network; readonly count: number; readonly first: string }[]> {
  const { rows } = await db.query<{ network: Network; count: number; first: string }>(
    `select network, count(*)::int as count, min(id) as first from (${UNSEALED_OUTCOMES}) unsealed
     group by network order by network`,
  )
  return rows
}

/** A page of a list whose newest comes first; `before`: the last id of the page before it. */
export type PageBefore = { readonly before: string | null; readonly limit: number }

export type UnsealedSweep = Pick<Sweep, 'merchantId' | 'livemode' | 'id' | 'asset' | 'amount'>

/** Sweeps of a network that are called done, without a seal. Reads every sweep of the network. */
export async function listUnsealedSweeps(
  db: Queryable,
  network: Network,
  { before, limit }: PageBefore,
): Promise<UnsealedSweep[]> {
  const { rows } = await db.query<UnsealedSweep>(
    `select s.merchant_id as "merchantId", s.livemode, s.id, s.asset, s.amount from sweep s
     where s.network = $1 and ${UNSEALED_SWEEP} and ($2::text is null or s.id < $2) order by s.id desc limit $3`,
    [network, before, limit],
  )
  return rows
}

/** Transactions that swept into the vault of a network, without a seal. Reads every sweep of the network. */
export async function listUnsealedVaultSweeps(
  db: Queryable,
  network: Network,
  { before, limit }: PageBefore,
): Promise<{ readonly id: string; readonly txid: string }[]> {
  const { rows } = await db.query<{ id: string; txid: string }>(
    `select max(c.id) as id, c.txid from ${INTO_VAULT} c where c.network = $1 and ${UNSEALED_VAULT_SWEEP}
     group by c.txid having $2::text is null or max(c.id) < $2 order by max(c.id) desc limit $3`,
    [network, before, limit],
  )
  return rows
}
