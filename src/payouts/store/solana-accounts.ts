import type { AssetId, Network } from '../../core/assets.ts'
import type { Queryable } from '../../postgres/pool.ts'

/** The signer's own accounts on a Solana network, base58. */
type SolanaAccounts = {
  /** Pays the network's fees, with the operator's own money. */
  readonly feePayer: string
  /** Holds what was swept; payouts are paid from it. */
  readonly vault: string
  /** Durable nonce accounts, whether they exist yet or not. */
  readonly nonceAccounts: readonly string[]
}

/** Their state at a finalized slot; lamports. */
export type SolanaReading = {
  readonly feePayerLamports: bigint
  readonly vaultLamports: bigint
  /** The minimum balances of an account without data, and of a nonce account. */
  readonly rentExempt: bigint
  readonly nonceRentExempt: bigint
  /** Price of a compute unit, millionths of a lamport. */
  readonly unitPrice: number
  readonly blockhash: string
  readonly lastValidHeight: number
  readonly readAt: Date
}

export type SolanaSignerAccounts = SolanaAccounts & { readonly reading: SolanaReading | null }

type Row = {
  fee_payer: string
  vault: string
  nonce_accounts: string[]
  fee_payer_lamports: bigint | null
  vault_lamports: bigint | null
  rent_exempt: bigint | null
  nonce_rent_exempt: bigint | null
  unit_price: number | null
  blockhash: string | null
  last_valid_height: number | null
  read_at: Date | null
}

/** Publishes the signer's accounts. By primary key. */
export async function saveSolanaAccounts(
  db: Queryable,
  network: Network,
  { feePayer, vault, nonceAccounts }: SolanaAccounts,
): Promise<void> {
  await db.query(
    `insert into solana_house (network, fee_payer, vault, nonce_accounts) values ($1, $2, $3, $4)
     on conflict (network) do update set fee_payer = $2, vault = $3, nonce_accounts = $4`,
    [network, feePayer, vault, nonceAccounts],
  )
}

/** Null while no signer has published its accounts. By primary key. */
export async function loadSolanaSignerAccounts(
  db: Queryable,
  network: Network,
): Promise<SolanaSignerAccounts | null> {
  const { rows } = await db.query<Row>('select * from solana_house where network = $1', [network])
  const row = rows[0]
  if (row === undefined) return null
  const { fee_payer: feePayer, vault, nonce_accounts: nonceAccounts } = row
  return { feePayer, vault, nonceAccounts, reading: readingOf(row) }
}

function readingOf(row: Row): SolanaReading | null {
  const { fee_payer_lamports: feePayerLamports, vault_lamports: vaultLamports, read_at: readAt } = row
  const { rent_exempt: rentExempt, nonce_rent_exempt: nonceRentExempt, unit_price: unitPrice } = row
  const { blockhash, last_valid_height: lastValidHeight } = row
  if (feePayerLamports === null || vaultLamports === null || readAt === null) return null
  if (rentExempt === null || nonceRentExempt === null || unitPrice === null) return null
  if (blockhash === null || lastValidHeight === null) return null
  return {
    feePayerLamports,
    vaultLamports,
    rentExempt,
    nonceRentExempt,
    unitPrice,
    blockhash,
    lastValidHeight,
    readAt,
  }
}

/** Keeps what was read, and the value of each nonce that has an account (by its address). By primary keys. */
export async function saveSolanaReading(
  db: Queryable,
  network: Network,
  reading: SolanaReading,
  nonces: ReadonlyMap<string, string>,
): Promise<void> {
  await db.query(
    `update solana_house set fee_payer_lamports = $2, vault_lamports = $3, rent_exempt = $4, nonce_rent_exempt = $5,
       unit_price = $6, blockhash = $7, last_valid_height = $8, read_at = $9 where network = $1`,
    [
      network,
      reading.feePayerLamports,
      reading.vaultLamports,
      reading.rentExempt,
      reading.nonceRentExempt,
      reading.unitPrice,
      reading.blockhash,
      reading.lastValidHeight,
      reading.readAt,
    ],
  )
  const accounts = [...nonces.keys()]
  await db.query('delete from solana_nonce where network = $1 and account <> all($2)', [network, accounts])
  await db.query(
    `insert into solana_nonce (network, account, value, read_at)
     select $1, nonce.account, nonce.value, $4 from unnest($2::text[], $3::text[]) as nonce (account, value)
     on conflict (network, account) do update set value = excluded.value, read_at = excluded.read_at`,
    [network, accounts, [...nonces.values()], reading.readAt],
  )
}

type SolanaNonce = { readonly account: string; readonly value: string }

/** The durable nonces that exist. Served by the primary key. */
export async function listSolanaNonces(db: Queryable, network: Network): Promise<SolanaNonce[]> {
  const { rows } = await db.query<SolanaNonce>(
    'select account, value from solana_nonce where network = $1 order by account',
    [network],
  )
  return rows
}

/** Whether payouts of a network are to be paid. Served by payout_under_way. */
export async function hasPayoutsUnderWay(db: Queryable, network: Network): Promise<boolean> {
  const { rows } = await db.query<{ has: boolean }>(
    `select exists (select from payout where network = $1 and status in ('approved', 'submitted')) as has`,
    [network],
  )
  return rows[0]?.has === true
}

/**
 * What the vault of a network is to pay of an asset by payouts that are signed, base units. One that was confirmed after
 * the vault was read counts still. Served by payout_under_way and payout_lately_confirmed.
 */
export async function sumSignedPayouts(
  db: Queryable,
  { network, asset }: { readonly network: Network; readonly asset: AssetId },
  readAt: Date,
): Promise<bigint> {
  const { rows } = await db.query<{ signed: bigint }>(
    `select coalesce(sum(amount), 0) as signed from (
       select amount from payout p where network = $1 and asset = $2 and status in ('approved', 'submitted')
         and exists (select from payout_transaction t where t.merchant_id = p.merchant_id and t.payout_id = p.id)
       union all
       select amount from payout where network = $1 and asset = $2 and status = 'confirmed' and confirmed_at >= $3) due`,
    [network, asset, readAt],
  )
  return rows[0]?.signed ?? 0n
}
