import type { Network } from '../../core/assets.ts'
import type { Queryable } from '../../postgres/pool.ts'

/** The account of the signer that pays the fees of x402 payments on a Solana network, as it was read at a finalized slot. */
export type X402FeePayer = {
  /** Base58. */
  readonly address: string
  readonly reading: {
    readonly lamports: bigint
    /** What a token account must hold, lamports. */
    readonly accountRent: bigint
    readonly readAt: Date
  } | null
}

/** Writes the account, where it is not there or is another. By primary key. */
export async function publishX402FeePayer(db: Queryable, network: Network, address: string): Promise<void> {
  await db.query(
    `insert into x402_fee_payer as p (network, address) values ($1, $2)
     on conflict (network) do update set address = excluded.address where p.address <> excluded.address`,
    [network, address],
  )
}

/** Null while no signer has published it. By primary key. */
export async function loadX402FeePayer(db: Queryable, network: Network): Promise<X402FeePayer | null> {
  const { rows } = await db.query<{
    address: string
    lamports: bigint | null
    account_rent: bigint | null
    read_at: Date | null
  }>('select address, lamports, account_rent, read_at from x402_fee_payer where network = $1', [network])
  const [row] = rows
  if (row === undefined) return null
  const { address, lamports, account_rent: accountRent, read_at: readAt } = row
  const isRead = lamports !== null && accountRent !== null && readAt !== null
  return { address, reading: isRead ? { lamports, accountRent, readAt } : null }
}

/** Keeps what was read. By primary key. */
export async function saveX402FeePayerReading(
  db: Queryable,
  network: Network,
  { lamports, accountRent, readAt }: NonNullable<X402FeePayer['reading']>,
): Promise<void> {
  await db.query(
    'update x402_fee_payer set lamports = $2, account_rent = $3, read_at = $4 where network = $1',
    [network, lamports, accountRent, readAt],
  )
}

/** Whether anything was ever signed for x402 on a network. Served by x402_transaction_by_time. */
export async function isX402Used(db: Queryable, network: Network): Promise<boolean> {
  const { rows } = await db.query<{ used: boolean }>(
    'select exists (select from x402_transaction where network = $1) as used',
    [network],
  )
  return rows[0]?.used === true
}
