import type { Keyspace, Network } from '../../core/assets.ts'
import { formatId, uuidv7 } from '../../core/ids.ts'
import { WINDOW_MS_MAX } from '../../core/payment-rules.ts'
import type { Queryable } from '../../postgres/pool.ts'

type Place = { readonly network: Network; readonly keyspace: Keyspace; readonly limit: number }

/** Whether an address was given what an account must hold, or is about to be, and has it still. `d` is the address. */
const isFunded = `exists (select from solana_chore c
  where c.network = $1 and c.kind = 'fund' and c.landed is not false and c.indexes[1] = d.idx)`

/**
 * Indexes of addresses to put the smallest balance on: of invoices that wait for SOL and whose merchant asks for it,
 * oldest first; no more than `perMerchant` addresses of a merchant hold one at a time. Served by payment_rules_funded,
 * invoice_by_mode, deposit_address_by_invoice, solana_chore_funded and solana_chore_reclaimed; reads the network's funded
 * addresses for each of these merchants.
 */
export async function listAddressesToFund(
  db: Queryable,
  { network, keyspace, limit }: Place,
  { perMerchant, now }: { readonly perMerchant: number; readonly now: Date },
): Promise<number[]> {
  const oldest = uuidv7(now.getTime() - WINDOW_MS_MAX, new Uint8Array(10))
  const { rows } = await db.query<{ idx: number }>(
    `select d.idx from payment_rules r
     cross join lateral (select $5 - count(*) as free from solana_chore c join deposit_address d
       on d.merchant_id = r.merchant_id and d.livemode = r.livemode and d.keyspace = $2 and d.idx = c.indexes[1]
       where c.network = $1 and c.kind = 'fund' and c.landed is not false and not exists (
         select from solana_chore back where back.network = $1 and back.kind = 'reclaim' and back.landed
           and back.indexes[1] = d.idx)) held
     cross join lateral (select d.idx, i.id from invoice i join deposit_address d
       on d.merchant_id = i.merchant_id and d.invoice_id = i.id and d.keyspace = $2
       where i.merchant_id = r.merchant_id and i.livemode = r.livemode and i.id >= $3 and i.asset = 'SOL'
         and i.status = 'awaiting_payment' and i.expires_at > $4 and not ${isFunded}
       order by i.id limit greatest(0, least(held.free, $6))) d
     where r.livemode = $7 and r.rules @> '{"solana_funded_addresses": true}'
     order by d.id limit $6`,
    [network, keyspace, formatId('invoice', oldest), now, perMerchant, limit, network.endsWith('-live')],
  )
  return rows.map(({ idx }) => idx)
}

/** A funded address, with what was put there in all and not taken back; lamports. */
export type FundedAddress = { readonly index: number; readonly addressBytes: Buffer; readonly given: bigint }

/**
 * Funded addresses above an index whose invoice nobody has been able to pay since then, and from which nothing is being
 * moved, lowest first. Reads the network's maintenance transactions.
 */
export async function listAddressesToReclaim(
  db: Queryable,
  { network, keyspace, limit }: Place,
  { above, closedBefore }: { readonly above: number; readonly closedBefore: Date },
): Promise<FundedAddress[]> {
  const { rows } = await db.query<FundedAddress>(
    `select d.idx as index, d.program as "addressBytes", given.lamports as given from (
       select c.indexes[1] as idx, sum(case c.kind when 'fund' then c.lamports[1] else -c.lamports[1] end) as lamports
       from solana_chore c where c.network = $1 and c.kind in ('fund', 'reclaim') and c.landed and c.indexes[1] > $4
       group by 1) given
     join deposit_address d on d.keyspace = $2 and d.idx = given.idx
     join invoice i on i.merchant_id = d.merchant_id and i.id = d.invoice_id
     where given.lamports > 0 and coalesce(i.cancelled_at, i.expires_at) < $5 and not exists (
       select from solana_chore c where c.network = $1 and c.ended_at is null and c.indexes @> array[d.idx])
     order by d.idx limit $3`,
    [network, keyspace, limit, above, closedBefore],
  )
  return rows
}

/** A transaction that put lamports on a deposit address for its existence, or takes them back. */
type SignedFund = {
  readonly id: string
  readonly kind: 'fund' | 'reclaim'
  readonly txid: string
  readonly lamports: bigint
}

/**
 * What was signed to fund an address and to reclaim that: bytes are the signer's own to write. Served by solana_chore_swept;
 * reads the open ones of the network.
 */
export async function listSignedFunds(
  db: Queryable,
  network: Network,
  index: number,
): Promise<readonly SignedFund[]> {
  const { rows } = await db.query<SignedFund>(
    `select id, kind, txid, lamports[1] as lamports from solana_chore
     where network = $1 and indexes @> array[$2::bigint] and kind in ('fund', 'reclaim')
       and txid is not null and raw is not null`,
    [network, index],
  )
  return rows
}
