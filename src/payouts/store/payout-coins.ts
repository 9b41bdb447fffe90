import type { AssetId, Network } from '../../core/assets.ts'
import { keyspaceOfNetwork } from '../../core/assets.ts'
import { REORG_DEPTH_MAX } from '../../core/chain/utxo-parameters.ts'
import type { Coin } from '../../core/payout/select-coins.ts'
import type { Queryable } from '../../postgres/pool.ts'
import type { Tenant } from '../../postgres/transaction.ts'

/** A coin of a merchant's, and which key of the account spends it: `account/chain/index`, 0 receiving, 1 change. */
export type OwnCoin = Coin & {
  readonly chain: 0 | 1
  readonly index: number
  /** Of a deposit address; null for change, whose address the signer derives itself. */
  readonly addressBytes: Buffer | null
}

/** More coins than one transaction could ever spend; the largest come first. */
const COINS_MAX = 5_000

/**
 * The coins that a merchant's payouts may spend on a network: final deposits that stand in the available balance, and
 * change of confirmed payouts; none that a payout spends already, but for `heldBy`'s own. Served by transfer's and payout_change's keys.
 */
export async function listSpendableCoins(
  db: Queryable,
  tenant: Tenant,
  network: Network,
  heldBy: string | null = null,
): Promise<OwnCoin[]> {
  const { rows } = await db.query<OwnCoin>(
    `select txid, output_index as "outputIndex", amount, chain, index, program as "addressBytes" from (
       select t.txid, t.output_index, t.amount, 0 as chain, d.idx as index, d.program
       from transfer_part t join deposit_address d
         on d.merchant_id = t.merchant_id and d.invoice_id = t.invoice_id and d.keyspace = $4
       where t.merchant_id = $1 and t.livemode = $2 and t.network = $3 and t.status = 'confirmed'
         and t.ledger_bucket = 'available' and t.left_on_chain is null and t.amount > 0
       union all
       select c.txid, c.output_index, c.amount, 1, c.change_index, null
       from payout_change c join payout p
         on p.merchant_id = c.merchant_id and p.id = c.payout_id and p.status = 'confirmed' and p.txid = c.txid
       where c.merchant_id = $1 and c.livemode = $2 and c.network = $3) coin
     where not exists (select from payout_input i where i.merchant_id = $1 and i.network = $3
       and i.txid = coin.txid and i.output_index = coin.output_index and i.payout_id is distinct from $5)
     order by amount desc, txid, output_index limit ${COINS_MAX}`,
    [tenant.merchantId, tenant.livemode, network, keyspaceOfNetwork(network), heldBy],
  )
  return rows
}

/** A transaction that was signed for a merchant's payout; null where there is none. Served by payout_transaction_by_txid. */
export async function loadSignedTransaction(
  db: Queryable,
  { merchantId, livemode }: Tenant,
  { network, txid }: { readonly network: Network; readonly txid: string },
): Promise<Buffer | null> {
  const { rows } = await db.query<{ raw: Buffer }>(
    'select raw from payout_transaction where network = $1 and txid = $2 and merchant_id = $3 and livemode = $4',
    [network, txid, merchantId, livemode],
  )
  return rows[0]?.raw ?? null
}

/** What a deposit of a merchant's is worth, and below which index its key is; null where there is none. Served by transfer_identity. */
export async function loadDepositCoin(
  db: Queryable,
  { merchantId, livemode }: Tenant,
  coin: { readonly network: Network; readonly txid: string; readonly outputIndex: number },
): Promise<{ readonly amount: bigint; readonly index: number } | null> {
  const { rows } = await db.query<{ amount: bigint; index: number }>(
    `select t.amount, d.idx as index from transfer_part t join deposit_address d
       on d.merchant_id = t.merchant_id and d.invoice_id = t.invoice_id and d.keyspace = $6
     where t.merchant_id = $1 and t.livemode = $2 and t.network = $3 and t.txid = $4 and t.output_index = $5`,
    [merchantId, livemode, coin.network, coin.txid, coin.outputIndex, keyspaceOfNetwork(coin.network)],
  )
  return rows[0] ?? null
}

/** The same of change of a merchant's payout. By primary key. */
export async function loadChangeCoin(
  db: Queryable,
  { merchantId, livemode }: Tenant,
  coin: { readonly network: Network; readonly txid: string; readonly outputIndex: number },
): Promise<{ readonly amount: bigint; readonly index: number } | null> {
  const { rows } = await db.query<{ amount: bigint; index: number }>(
    `select amount, change_index as index from payout_change
     where merchant_id = $1 and livemode = $2 and network = $3 and txid = $4 and output_index = $5`,
    [merchantId, livemode, coin.network, coin.txid, coin.outputIndex],
  )
  return rows[0] ?? null
}

/** Whether change of a payout comes back to the merchant that is not confirmed yet. Served by payout_under_way. */
export async function isChangeComing(db: Queryable, tenant: Tenant, network: Network): Promise<boolean> {
  const { rows } = await db.query<{ coming: boolean }>(
    `select exists (select from payout p
       join payout_change c on c.merchant_id = p.merchant_id and c.payout_id = p.id and c.network = p.network
       where p.merchant_id = $1 and p.livemode = $2 and p.network = $3 and p.status in ('approved', 'submitted')) as coming`,
    [tenant.merchantId, tenant.livemode, network],
  )
  return rows[0]?.coming === true
}

/**
 * Whether a merchant's coins are worth less than the books hold, for the chain took back what was paid out or set aside, and neither
 * a payment nor a payout that is under way can make up for it. Served by ledger_balance's key and payout_under_way.
 */
export async function isShortOfCoins(
  db: Queryable,
  tenant: Tenant,
  { asset, network }: { readonly asset: AssetId; readonly network: Network },
): Promise<boolean> {
  const { rows } = await db.query<{ short: boolean }>(
    `select coalesce(sum(case account when 'pending' then balance else least(balance, 0) end), 0) < 0
       and not exists (select from payout p
         join payout_transaction t on t.merchant_id = p.merchant_id and t.payout_id = p.id
         where p.merchant_id = $1 and p.livemode = $2 and p.network = $4 and p.status in ('approved', 'submitted')) as short
     from ledger_balance
     where merchant_id = $1 and livemode = $2 and asset = $3 and account in ('pending', 'shortfall', 'fees')`,
    [tenant.merchantId, tenant.livemode, asset, network],
  )
  return rows[0]?.short === true
}

/** What a virtual byte costs on a network, thousandths of a base unit, and when that was read; null where it never was. */
export async function loadNetworkFee(
  db: Queryable,
  network: Network,
): Promise<{ readonly rate: bigint; readonly updatedAt: Date } | null> {
  const { rows } = await db.query<{ rate: string | number | bigint; updated_at: Date }>(
    'select milli_per_vbyte as rate, updated_at from network_fee where network = $1',
    [network],
  )
  const row = rows[0]
  return row === undefined ? null : { rate: BigInt(row.rate), updatedAt: row.updated_at }
}

/** Keeps what a virtual byte costs now. By primary key. */
export async function saveNetworkFee(
  db: Queryable,
  network: Network,
  fee: { readonly rate: bigint; readonly now: Date },
): Promise<void> {
  await db.query(
    `insert into network_fee (network, milli_per_vbyte, updated_at) values ($1, $2, $3)
     on conflict (network) do update set milli_per_vbyte = excluded.milli_per_vbyte, updated_at = excluded.updated_at`,
    [network, fee.rate, fee.now],
  )
}

/**
 * A height at or below the block that made a coin of ours: of the deposit, or a reorganisation below the signing of the payout
 * whose change it is. Null where neither is known. Served by transfer_identity's columns and payout_transaction_by_txid.
 */
export async function heightOfCoin(
  db: Queryable,
  tenant: Tenant,
  network: Network,
  txid: string,
): Promise<number | null> {
  const { rows } = await db.query<{ height: number | null }>(
    `select coalesce(
       (select min(block_height) from transfer_part
        where merchant_id = $1 and livemode = $2 and network = $3 and txid = $4),
       (select greatest(min(from_height) - $5, 0) from payout_transaction where network = $3 and txid = $4)) as height`,
    [tenant.merchantId, tenant.livemode, network, txid, REORG_DEPTH_MAX],
  )
  return rows[0]?.height ?? null
}
