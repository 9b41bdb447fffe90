import type { Network } from '../../core/assets.ts'
import type { Queryable } from '../../postgres/pool.ts'
import type { Sweep } from './sweeps.ts'

type Kind = 'landed' | 'failed'

/** Keeps the seal of an outcome; another one in its place was none of the watcher's. By primary key. */
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
     on conflict (network, kind, txid) do update set seal = excluded.seal where kept.seal is distinct from excluded.seal`,
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

/** What stood in the books before there were seals. Reads all of them, once in an installation's life. */
export async function listOutcomesFromBefore(
  db: Queryable,
): Promise<{ readonly network: string; readonly kind: Kind; readonly txid: string }[]> {
  const { rows } = await db.query<{ network: string; kind: Kind; txid: string }>(
    'select network, kind, txid from outcome_seal where from_before',
  )
  return rows
}

/** Whether nothing says what became of this: of no account are the seals here, which the signer alone judges. */
const unsealed = (of: { readonly kind: Kind; readonly network: string; readonly txid: string }): string =>
  `not exists (select from outcome_seal o
     where o.network = ${of.network} and o.kind = '${of.kind}' and o.txid = ${of.txid})`

const UNSEALED_SWEEP = `s.status = 'done' and ${unsealed({ kind: 'landed', network: 's.network', txid: 's.txid' })}`
const UNSEALED_VAULT_SWEEP = `c.kind = 'sweep' and c.landed and c.txid is not null
  and ${unsealed({ kind: 'landed', network: 'c.network', txid: 'c.txid' })}`
/** Of a payout nothing of which was signed there is nothing to seal. By payout_transaction's key. */
export const UNSEALED_PAYOUT = `p.status = 'failed' and p.network ~ '^(ethereum|base|solana)-' and exists (
    select from payout_transaction t where t.merchant_id = p.merchant_id and t.payout_id = p.id)
  and ${unsealed({
    kind: 'failed',
    network: 'p.network',
    txid: `(select t.txid from payout_transaction t
      where t.merchant_id = p.merchant_id and t.payout_id = p.id order by t.number desc limit 1)`,
  })}`

/** Whose, which and in what state: rows that say what became of money, and that nobody sealed. */
export const UNSEALED_OUTCOMES = `select s.merchant_id, s.network, s.id, 'is called done' as state
    from sweep s where ${UNSEALED_SWEEP}
  union all select null, c.network, c.id, 'is called done' from solana_chore c where ${UNSEALED_VAULT_SWEEP}
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

/** Sweeps of a network that are called done, without a seal. Reads every sweep of the network. */
export async function listUnsealedSweeps(
  db: Queryable,
  network: Network,
  limit: number,
): Promise<Pick<Sweep, 'merchantId' | 'livemode' | 'id'>[]> {
  const { rows } = await db.query<Pick<Sweep, 'merchantId' | 'livemode' | 'id'>>(
    `select s.merchant_id as "merchantId", s.livemode, s.id from sweep s
     where s.network = $1 and ${UNSEALED_SWEEP} order by s.id desc limit $2`,
    [network, limit],
  )
  return rows
}

/** Transactions that swept into the vault of a network, without a seal. Reads every sweep of the network. */
export async function listUnsealedVaultSweeps(
  db: Queryable,
  network: Network,
  limit: number,
): Promise<string[]> {
  const { rows } = await db.query<{ txid: string }>(
    `select c.txid from solana_chore c where c.network = $1 and ${UNSEALED_VAULT_SWEEP}
     group by c.txid order by max(c.id) desc limit $2`,
    [network, limit],
  )
  return rows.map(({ txid }) => txid)
}
