import type { Network } from '../../core/assets.ts'
import type { Outpoint } from '../../core/chain/outpoint.ts'
import { DESTINATION_GAS_MAX } from '../../core/payout/gas.ts'
import type { Queryable } from '../../postgres/pool.ts'
import type { Tenant, Tx } from '../../postgres/transaction.ts'

/** A signed transaction of a payout. */
export type SignedPayoutTransaction = {
  readonly number: number
  readonly txid: string
  readonly raw: Buffer
  /** Base units. */
  readonly networkFee: bigint
  /** The checkpoint when it was signed. On a chain of coins a reorganisation may put it into a block below. */
  readonly fromHeight: number
  readonly createdAt: Date
}

/** Change of a signed transaction. */
type PayoutChange = Outpoint & {
  readonly amount: bigint
  readonly changeIndex: number
  /** The witness program that it comes back to. */
  readonly addressBytes: Uint8Array
}

type Row = {
  number: number
  txid: string
  raw: Buffer
  network_fee: bigint
  from_height: number
  created_at: Date
}

/** A payout's signed transactions, oldest first. Served by the primary key. */
export async function listPayoutTransactions(
  db: Queryable,
  tenant: Tenant,
  payoutId: string,
): Promise<SignedPayoutTransaction[]> {
  const { rows } = await db.query<Row>(
    `select number, txid, raw, network_fee, from_height, created_at from payout_transaction
     where merchant_id = $1 and payout_id = $2 and livemode = $3 order by number`,
    [tenant.merchantId, payoutId, tenant.livemode],
  )
  return rows.map(transactionFromRow)
}

const transactionFromRow = (row: Row): SignedPayoutTransaction => ({
  number: row.number,
  txid: row.txid,
  raw: row.raw,
  networkFee: row.network_fee,
  fromHeight: row.from_height,
  createdAt: row.created_at,
})

/** The same of many payouts, asked for together. Served by the primary key. */
export async function loadTransactionsOf(
  db: Queryable,
  payouts: readonly (Tenant & { readonly id: string })[],
): Promise<(payout: { merchantId: string; id: string }) => readonly SignedPayoutTransaction[]> {
  if (payouts.length === 0) return () => []
  const { rows } = await db.query<Row & { merchant_id: string; payout_id: string }>(
    `select merchant_id, payout_id, number, txid, raw, network_fee, from_height, created_at from payout_transaction
     where (merchant_id, payout_id, livemode) in (select * from unnest($1::text[], $2::text[], $3::boolean[]))
     order by number`,
    [
      payouts.map(({ merchantId }) => merchantId),
      payouts.map(({ id }) => id),
      payouts.map(({ livemode }) => livemode),
    ],
  )
  const keyOf = (merchantId: string, id: string) => `${merchantId}/${id}`
  const transactions = new Map<string, SignedPayoutTransaction[]>()
  for (const row of rows) {
    const key = keyOf(row.merchant_id, row.payout_id)
    const earlier = transactions.get(key)
    if (earlier === undefined) transactions.set(key, [transactionFromRow(row)])
    else earlier.push(transactionFromRow(row))
  }
  return ({ merchantId, id }) => transactions.get(keyOf(merchantId, id)) ?? []
}

/** Whether a payout is approved and nothing was signed for it. Once signed it stays so. By primary keys. */
export async function isUnsigned(
  db: Queryable,
  { merchantId, livemode }: Tenant,
  payoutId: string,
): Promise<boolean> {
  const { rowCount } = await db.query(
    `select from payout p where p.merchant_id = $1 and p.id = $2 and p.livemode = $3 and p.status = 'approved'
       and not exists (select from payout_transaction t where t.merchant_id = p.merchant_id and t.payout_id = p.id)`,
    [merchantId, payoutId, livemode],
  )
  return rowCount === 1
}

/**
 * The same, and until this transaction ends nothing that was signed for it is published: a signature refers to the payout's
 * row. Read after the lock, so that what was published while this waited counts.
 */
export async function lockUnsigned(tx: Tx, tenant: Tenant, payoutId: string): Promise<boolean> {
  const { merchantId, livemode } = tenant
  await tx.query('select from payout where merchant_id = $1 and id = $2 and livemode = $3 for update', [
    merchantId,
    payoutId,
    livemode,
  ])
  return isUnsigned(tx, tenant, payoutId)
}

/** Keeps a signed transaction of a payout. Writing the same one again changes nothing. */
export async function insertPayoutTransaction(
  tx: Tx,
  tenant: Tenant,
  signed: {
    readonly payoutId: string
    readonly network: Network
    readonly transaction: Omit<SignedPayoutTransaction, 'createdAt'>
    readonly now: Date
  },
): Promise<void> {
  const { payoutId, network, transaction } = signed
  await tx.query(
    `insert into payout_transaction (merchant_id, payout_id, number, livemode, network, txid, raw, network_fee,
       from_height, created_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) on conflict (merchant_id, payout_id, number) do nothing`,
    [
      tenant.merchantId,
      payoutId,
      transaction.number,
      tenant.livemode,
      network,
      transaction.txid,
      transaction.raw,
      transaction.networkFee,
      transaction.fromHeight,
      signed.now,
    ],
  )
}

/** Keeps the coins that a payout spends. Coins that are its already stay so; coins of another payout are an error. */
export async function insertPayoutInputs(
  tx: Tx,
  { merchantId, livemode }: Tenant,
  spent: { readonly payoutId: string; readonly network: string; readonly inputs: readonly Outpoint[] },
): Promise<void> {
  const { payoutId, network, inputs } = spent
  await tx.query(
    `insert into payout_input (merchant_id, network, txid, output_index, livemode, payout_id)
     select $1, $2, input.txid, input.output_index, $3, $4
     from unnest($5::text[], $6::integer[]) as input (txid, output_index)
     where not exists (select from payout_input i where i.merchant_id = $1 and i.network = $2 and i.txid = input.txid
       and i.output_index = input.output_index and i.payout_id = $4)`,
    [
      merchantId,
      network,
      livemode,
      payoutId,
      inputs.map(({ txid }) => txid),
      inputs.map(({ outputIndex }) => outputIndex),
    ],
  )
}

/** Keeps the change that a signed transaction makes. Writing the same again changes nothing. */
export async function insertPayoutChange(
  tx: Tx,
  { merchantId, livemode }: Tenant,
  made: { readonly payoutId: string; readonly network: string; readonly change: PayoutChange },
): Promise<void> {
  const { payoutId, network, change } = made
  await tx.query(
    `insert into payout_change (merchant_id, network, txid, output_index, livemode, payout_id, amount, change_index,
       program)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9) on conflict (merchant_id, network, txid, output_index) do nothing`,
    [
      merchantId,
      network,
      change.txid,
      change.outputIndex,
      livemode,
      payoutId,
      change.amount,
      change.changeIndex,
      change.addressBytes,
    ],
  )
}

/** Says, once, why the signer will not sign a payout. */
export async function insertPayoutRefusal(
  tx: Tx,
  tenant: Tenant,
  refusal: { readonly payoutId: string; readonly code: string; readonly now: Date },
): Promise<void> {
  await tx.query(
    `insert into payout_refusal (merchant_id, payout_id, livemode, code, created_at) values ($1, $2, $3, $4, $5)
     on conflict do nothing`,
    [tenant.merchantId, refusal.payoutId, tenant.livemode, refusal.code, refusal.now],
  )
}

/** Why the signer will not sign a payout; null where it has not said so. By primary key. */
export async function loadPayoutRefusal(
  db: Queryable,
  tenant: Tenant,
  payoutId: string,
): Promise<string | null> {
  const { rows } = await db.query<{ code: string }>(
    'select code from payout_refusal where merchant_id = $1 and payout_id = $2 and livemode = $3',
    [tenant.merchantId, payoutId, tenant.livemode],
  )
  return rows[0]?.code ?? null
}

/** The coins that a payout holds. Served by payout_input_by_payout. */
export async function listPayoutInputs(db: Queryable, tenant: Tenant, payoutId: string): Promise<Outpoint[]> {
  const { rows } = await db.query<Outpoint>(
    `select txid, output_index as "outputIndex" from payout_input
     where merchant_id = $1 and payout_id = $2 and livemode = $3 order by txid, output_index`,
    [tenant.merchantId, payoutId, tenant.livemode],
  )
  return rows
}

/** Gives coins back that a dead payout held and that are not spent. Served by the primary key. */
export async function releasePayoutInputs(
  tx: Tx,
  tenant: Tenant,
  payoutId: string,
  unspent: readonly Outpoint[],
): Promise<void> {
  await tx.query(
    `delete from payout_input i using unnest($4::text[], $5::integer[]) as free (txid, output_index)
     where i.merchant_id = $1 and i.payout_id = $2 and i.livemode = $3 and i.txid = free.txid
       and i.output_index = free.output_index`,
    [
      tenant.merchantId,
      payoutId,
      tenant.livemode,
      unspent.map(({ txid }) => txid),
      unspent.map(({ outputIndex }) => outputIndex),
    ],
  )
}

/** Which of these payouts have failed, so that what they were to spend may be spent by others. */
export async function listFailedPayouts(db: Queryable, payoutIds: readonly string[]): Promise<Set<string>> {
  const { rows } = await db.query<{ id: string }>(
    `select id from payout where id = any($1) and status = 'failed'`,
    [payoutIds],
  )
  return new Set(rows.map((row) => row.id))
}

/** An approval as the signer reads it. By primary key. */
export async function loadApproval(
  db: Queryable,
  tenant: Tenant,
  payoutId: string,
): Promise<{ readonly digest: Buffer; readonly signature: Buffer } | null> {
  const { rows } = await db.query<{ digest: Buffer; signature: Buffer }>(
    'select digest, signature from payout_approval where merchant_id = $1 and payout_id = $2 and livemode = $3',
    [tenant.merchantId, payoutId, tenant.livemode],
  )
  return rows[0] ?? null
}

/**
 * How much gas, on Solana compute units, a payout's destination takes, 0 where it takes no payment; null where nobody has
 * asked yet. By primary key.
 */
export async function loadPayoutGas(db: Queryable, tenant: Tenant, payoutId: string): Promise<bigint | null> {
  const { rows } = await db.query<{ gas: number }>(
    'select gas from payout_gas where merchant_id = $1 and payout_id = $2 and livemode = $3',
    [tenant.merchantId, payoutId, tenant.livemode],
  )
  const row = rows[0]
  if (row === undefined) return null
  const gas = BigInt(row.gas)
  // The watcher measures no more than that: its code might burn all of it at the hot wallet's cost.
  return gas > DESTINATION_GAS_MAX ? 0n : gas
}

/** Keeps how much gas a payout's destination takes, as `loadPayoutGas` returns it; the first value stays. */
export async function insertPayoutGas(
  tx: Tx,
  tenant: Tenant,
  found: { readonly payoutId: string; readonly gas: bigint },
): Promise<void> {
  await tx.query(
    'insert into payout_gas (merchant_id, payout_id, livemode, gas) values ($1, $2, $3, $4) on conflict do nothing',
    [tenant.merchantId, found.payoutId, tenant.livemode, found.gas],
  )
}
