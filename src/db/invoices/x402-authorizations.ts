import type { Network } from '../../core/assets.ts'
import { keyspaceOfNetwork } from '../../core/assets.ts'
import type { Queryable } from '../../postgres/pool.ts'
import type { Tenant, Tx } from '../../postgres/transaction.ts'

/** A signed transfer that was handed in to pay an invoice. */
export type X402Authorization = {
  readonly merchantId: string
  readonly livemode: boolean
  readonly id: string
  readonly invoiceId: string
  readonly network: Network
  /** 20 bytes each, on Solana 32 (the owners, not their token accounts); the recipient's key is the address of `keyIndex`. */
  readonly payer: Buffer
  readonly recipient: Buffer
  readonly keyIndex: number
  readonly value: bigint
  /** Unix seconds; both 0 on Solana. */
  readonly validAfter: bigint
  readonly validBefore: bigint
  /** 32 bytes; on Solana the message's SHA-256. */
  readonly nonce: Buffer
  /** 65 bytes, on Solana 64. */
  readonly signature: Buffer
  /** On Solana what the payer signed: the transaction's message. Null elsewhere. */
  readonly message: Buffer | null
  /** On Solana no block higher than this has it; null until a node was asked. */
  readonly lastValidHeight: number | null
  readonly status: 'waiting' | 'checked' | 'settled' | 'refused'
  /** Why it was refused; null where it was not. */
  readonly reason: string | null
  /** In a block; null while it is in none. */
  readonly txid: string | null
  readonly createdAt: Date
}

export type X402Transaction = {
  readonly number: number
  readonly txid: string
  readonly raw: Buffer
  /** On Solana: creates the token account of the recipient, where that is missing. */
  readonly creation: { readonly txid: string; readonly raw: Buffer } | null
}

const COLUMNS = `merchant_id as "merchantId", livemode, id, invoice_id as "invoiceId", network, payer, recipient,
  key_index as "keyIndex", value, valid_after as "validAfter", valid_before as "validBefore", nonce, signature, message,
  last_valid_height as "lastValidHeight", status, reason, txid, created_at as "createdAt"`

/** Keeps a handed-in authorization; its recipient must be an address of the invoice, else nothing is written and it returns false. */
export async function insertX402Authorization(
  tx: Tx,
  tenant: Tenant,
  given: Omit<
    X402Authorization,
    'merchantId' | 'livemode' | 'keyIndex' | 'status' | 'reason' | 'txid' | 'lastValidHeight' | 'createdAt'
  > & { readonly now: Date },
): Promise<boolean> {
  const { rowCount } = await tx.query(
    `insert into x402_authorization (merchant_id, id, livemode, invoice_id, network, payer, recipient, key_index, value,
       valid_after, valid_before, nonce, signature, message, status, created_at)
     select $1, $2, $3, $4, $5, $6, $7, d.idx, $8, $9, $10, $11, $12, $15, 'waiting', $13
     from deposit_address d where d.merchant_id = $1 and d.invoice_id = $4 and d.keyspace = $14 and d.program = $7`,
    [
      tenant.merchantId,
      given.id,
      tenant.livemode,
      given.invoiceId,
      given.network,
      given.payer,
      given.recipient,
      given.value,
      given.validAfter,
      given.validBefore,
      given.nonce,
      given.signature,
      given.now,
      keyspaceOfNetwork(given.network),
      given.message,
    ],
  )
  return rowCount === 1
}

/** The one that a payer gave this nonce. Served by x402_authorization_by_nonce. */
export async function findX402Authorization(
  tx: Tx,
  { merchantId, livemode }: Tenant,
  of: { readonly invoiceId: string; readonly payer: Buffer; readonly nonce: Buffer },
): Promise<X402Authorization | null> {
  const { rows } = await tx.query<X402Authorization>(
    `select ${COLUMNS} from x402_authorization
     where merchant_id = $1 and invoice_id = $2 and payer = $3 and nonce = $4 and livemode = $5`,
    [merchantId, of.invoiceId, of.payer, of.nonce, livemode],
  )
  return rows[0] ?? null
}

/** The one that pays an invoice, or is about to; null where there is none. Served by x402_authorization_one. */
export async function findLiveX402Authorization(
  tx: Tx,
  { merchantId, livemode }: Tenant,
  invoiceId: string,
): Promise<X402Authorization | null> {
  const { rows } = await tx.query<X402Authorization>(
    `select ${COLUMNS} from x402_authorization
     where merchant_id = $1 and invoice_id = $2 and livemode = $3 and status <> 'refused'`,
    [merchantId, invoiceId, livemode],
  )
  return rows[0] ?? null
}

/** How many were ever handed in for an invoice. Served by x402_authorization_by_nonce. */
export async function countX402Authorizations(
  tx: Tx,
  { merchantId, livemode }: Tenant,
  invoiceId: string,
): Promise<number> {
  const { rows } = await tx.query<{ count: number }>(
    `select count(*)::int as count from x402_authorization
     where merchant_id = $1 and invoice_id = $2 and livemode = $3`,
    [merchantId, invoiceId, livemode],
  )
  return rows[0]?.count ?? 0
}

/** By primary key. */
export async function loadX402Authorization(
  db: Queryable,
  { merchantId, livemode }: Tenant,
  id: string,
): Promise<X402Authorization | null> {
  const { rows } = await db.query<X402Authorization>(
    `select ${COLUMNS} from x402_authorization where merchant_id = $1 and id = $2 and livemode = $3`,
    [merchantId, id, livemode],
  )
  return rows[0] ?? null
}

/**
 * Those of a network that somebody still looks after and that stand so: merchants in turn, of each its payers in turn, of
 * each the oldest first, so that no number of one's keeps others waiting. What waits for its block to be final is asked for
 * apart, for the same reason. Served by x402_authorization_under_way.
 */
export async function listX402UnderWay(
  db: Queryable,
  network: Network,
  statuses: readonly X402Authorization['status'][],
  limit: number,
): Promise<X402Authorization[]> {
  const { rows } = await db.query<X402Authorization>(
    `select ${COLUMNS} from (
       select *, row_number() over (partition by merchant_id order by turn_of_payer, id) as turn from (
         select *, row_number() over (partition by merchant_id, payer order by id) as turn_of_payer
         from x402_authorization
         where network = $1 and done_at is null and status = any($2)) by_payer) by_merchant
     order by turn, id limit $3`,
    [network, statuses, limit],
  )
  return rows
}

/** What became of one, unless it has moved on meanwhile; whether it was so. By primary key. */
export async function updateX402Authorization(
  db: Queryable,
  { merchantId, id, status: before }: X402Authorization,
  to: {
    readonly status: X402Authorization['status']
    readonly reason: string | null
    readonly txid: string | null
    readonly doneAt: Date | null
    /** On Solana, once it is known. */
    readonly lastValidHeight?: number
  },
): Promise<boolean> {
  const { rowCount } = await db.query(
    `update x402_authorization set status = $4, reason = $5, txid = $6, done_at = $7,
       last_valid_height = coalesce($8, last_valid_height)
     where merchant_id = $1 and id = $2 and status = $3 and done_at is null`,
    [merchantId, id, before, to.status, to.reason, to.txid, to.doneAt, to.lastValidHeight ?? null],
  )
  return rowCount === 1
}

/** Who signs an authorization and who refuses it take turns, so that the later one sees what the other has written. */
async function takeTurn(tx: Tx, id: string): Promise<void> {
  await tx.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [id])
}

/** Refuses one for good, unless it has moved on meanwhile or something was signed for it. By primary keys. */
export async function refuseUnsignedX402(
  tx: Tx,
  { merchantId, id, status: before }: X402Authorization,
  { reason, now }: { readonly reason: string; readonly now: Date },
): Promise<void> {
  await takeTurn(tx, id)
  await tx.query(
    `update x402_authorization set status = 'refused', reason = $4, done_at = $5
     where merchant_id = $1 and id = $2 and status = $3 and done_at is null
       and not exists (select from x402_transaction where merchant_id = $1 and authorization_id = $2)`,
    [merchantId, id, before, reason, now],
  )
}

/**
 * Refuses what a payer signed for an invoice that is being cancelled. What the signer has signed already is carried: the
 * money that it brings is found, and reviewed. Served by x402_authorization_one.
 */
export async function refuseX402OfCancelled(
  tx: Tx,
  tenant: Tenant,
  invoiceId: string,
  now: Date,
): Promise<void> {
  const live = await findLiveX402Authorization(tx, tenant, invoiceId)
  if (live === null) return
  // The watcher may have checked it since it was read here: it moves on, and never back.
  for (const status of ['waiting', 'checked'] as const) {
    await refuseUnsignedX402(tx, { ...live, status }, { reason: 'invalid_payment_requirements', now })
  }
}

/** Signed transactions, oldest first. By primary key. */
export async function listX402Transactions(
  db: Queryable,
  { merchantId, livemode }: Tenant,
  authorizationId: string,
): Promise<X402Transaction[]> {
  const { rows } = await db.query<
    X402Transaction & { creationTxid: string | null; creationRaw: Buffer | null }
  >(
    `select number, txid, raw, creation_txid as "creationTxid", creation_raw as "creationRaw" from x402_transaction
     where merchant_id = $1 and authorization_id = $2 and livemode = $3 order by number`,
    [merchantId, authorizationId, livemode],
  )
  return rows.map(({ number, txid, raw, creationTxid, creationRaw }) => {
    const creation =
      creationTxid === null || creationRaw === null ? null : { txid: creationTxid, raw: creationRaw }
    return { number, txid, raw, creation }
  })
}

/**
 * For how many authorizations of a network something was first signed since then: of everybody, of this one's merchant, and
 * of its payer at that merchant. Served by x402_transaction_by_time and primary keys.
 */
export async function countX402Signed(
  db: Queryable,
  { network, merchantId, payer }: Pick<X402Authorization, 'network' | 'merchantId' | 'payer'>,
  since: Date,
): Promise<{ readonly all: number; readonly ofMerchant: number; readonly ofPayer: number }> {
  const { rows } = await db.query<{ all: number; ofMerchant: number; ofPayer: number }>(
    `select count(*)::int as "all", count(*) filter (where a.merchant_id = $3)::int as "ofMerchant",
       count(*) filter (where a.merchant_id = $3 and a.payer = $4)::int as "ofPayer"
     from x402_transaction t
     join x402_authorization a on a.merchant_id = t.merchant_id and a.id = t.authorization_id
     where t.network = $1 and t.created_at > $2 and t.number = 1`,
    [network, since, merchantId, payer],
  )
  return rows[0] ?? { all: 0, ofMerchant: 0, ofPayer: 0 }
}

/**
 * Writes a signed transaction; whether it was written. Not where the authorization was refused while it was signed: nobody
 * would carry it, and all that the hot wallet signs after it would wait for its nonce. By primary keys.
 */
export async function insertX402Transaction(
  tx: Tx,
  { merchantId, livemode, id, network }: X402Authorization,
  signed: X402Transaction & { readonly now: Date },
): Promise<boolean> {
  await takeTurn(tx, id)
  const { rowCount } = await tx.query(
    `insert into x402_transaction (merchant_id, authorization_id, number, livemode, network, txid, raw, created_at,
       creation_txid, creation_raw)
     select $1, $2, $3, $4, $5, $6, $7, $8, $9, $10 where exists (
       select from x402_authorization where merchant_id = $1 and id = $2 and status <> 'refused')
     on conflict do nothing`,
    [
      merchantId,
      id,
      signed.number,
      livemode,
      network,
      signed.txid,
      signed.raw,
      signed.now,
      signed.creation?.txid ?? null,
      signed.creation?.raw ?? null,
    ],
  )
  return rowCount === 1
}
