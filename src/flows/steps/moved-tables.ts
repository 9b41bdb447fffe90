import { createHash } from 'node:crypto'
import { COOL_OFF_MS } from '../../core/payout/payout-limits.ts'
import type { AccessSeals } from '../../core/people/access-seals.ts'
import { secretContext } from '../../db/delivery/endpoint-secrets.ts'
import { columnsOfTable, readRows, writeRows } from '../../db/people/merchant-moves.ts'
import { answerContext } from '../../db/requests/idempotency.ts'
import type { Tx } from '../../postgres/transaction.ts'
import type { Keyring } from '../../secrets/keyring.ts'

type Row = { readonly [column: string]: unknown }
export type CopiedTable = {
  readonly table: string
  /** Column with the merchant's id. */
  readonly owner?: string
  /** Which rows; `$2` is when the move began. */
  readonly where?: string
  /** Columns that stay: each cell makes its own. */
  readonly without?: readonly string[]
  /** A column that is sealed with the installation's key, and for what. */
  readonly sealed?: { readonly column: string; context(merchantId: string, row: Row): string }
}

/** What a merchant takes along to another cell, in the order in which rows refer to others. */
export const COPIED_TABLES: readonly CopiedTable[] = [
  { table: 'merchant', owner: 'id' },
  { table: 'organization', owner: 'id' },
  { table: 'branding' },
  { table: 'payment_rules' },
  // Its signer believes the times of the rows when it begins its list: they wait anew.
  { table: 'payout_destination', where: 'removed_at is null', without: ['usable_at'] },
  { table: 'webhook_endpoint', where: 'removed_at is null' },
  {
    table: 'endpoint_secret',
    where: `(valid_until is null or valid_until > $2) and exists (select from webhook_endpoint e
      where e.merchant_id = s.merchant_id and e.id = s.endpoint_id and e.removed_at is null)`,
    sealed: {
      column: 'secret_sealed',
      context: (merchantId, { id }) => secretContext(merchantId, String(id)),
    },
  },
  { table: 'till_picture' },
  // A till's code is hashed with the installation's key.
  { table: 'payment_link', without: ['staff_code'] },
  { table: 'api_key', where: 'revoked_at is null', without: ['seal'] },
  {
    table: 'idempotency_key',
    where: `created_at > $2::timestamptz - interval '72 hours'`,
    sealed: {
      column: 'response_body',
      context: (merchantId, { livemode, method, route, key }) =>
        answerContext({
          tenant: { merchantId, livemode: livemode === true },
          method: String(method),
          route: String(route),
          key: String(key),
        }),
    },
  },
]

/** Copied by other means: people by their addresses, what is made of a key of the cell, and names of orders. */
export const CARRIED_TABLES = ['organization_member', 'buyer_optout', 'moved_order', 'merchant_move']

/** Money and all that belongs to it, and what a cell writes down about its own work. */
export const STAYING_TABLES = [
  'account_nonce',
  'approver_sighting',
  'attempt',
  'audit_entry',
  'buyer_email',
  'card_purchase',
  'checkout_session',
  'delivery',
  'delivery_lane',
  'deposit',
  'deposit_account',
  'deposit_address',
  'destination_sighting',
  'event',
  'event_awaiting',
  'found_payout',
  'frozen_deposit',
  'hot_credit',
  'imported_invoice',
  'invoice',
  'invoice_note',
  'invoice_resolution',
  'journal_question',
  'known_manager',
  'ledger_balance',
  'ledger_entry',
  'ledger_transfer',
  'notice_refusal',
  'organization_invitation',
  'payout',
  'payout_approval',
  'payout_change',
  'payout_gas',
  'payout_hold',
  'payout_input',
  'payout_refusal',
  'payout_transaction',
  'receipt_request',
  'received_by_day',
  'request_log',
  'saved_view',
  'sweep',
  'sweep_transaction',
  'sweep_transfer',
  'transfer',
  'x402_authorization',
  'x402_transaction',
]

export type Cell = { readonly keyring: Keyring; readonly seals: AccessSeals }
export type MovedMerchant = { readonly merchantId: string; readonly beganAt: Date }

/** How many rows a table has of a merchant, and the sum of their SHA-256: whatever their order and the key that sealed them. */
export type Tally = { readonly rows: number; readonly sum: bigint }

/** Copies a table's rows, which a cell sealed, into another cell. */
export async function copyTable(
  { from, to, source, target, now }: { from: Tx; to: Tx; source: Cell; target: Cell; now: Date },
  of: CopiedTable,
  merchant: MovedMerchant,
): Promise<void> {
  const columns = await copiedColumns(from, of)
  const made: { readonly [table: string]: string } = { api_key: 'seal', payout_destination: 'usable_at' }
  const written = [...columns, ...[made[of.table] ?? []].flat()]
  for await (const rows of rowsOf(from, of, columns, merchant)) {
    const moved = rows.map((text) => {
      if (of.table === 'api_key') return withKeySeal(target.seals, text)
      if (of.table === 'payout_destination') return withCoolOff(now, text)
      return withSealed(of, merchant, text, (sealed, context) =>
        target.keyring.seal(source.keyring.open(sealed, context), context),
      )
    })
    await writeRows(to, of.table, written, moved)
  }
}

/** Of what a cell holds of a table that is copied. */
export async function tallyTable(
  tx: Tx,
  cell: Cell,
  of: CopiedTable,
  merchant: MovedMerchant,
): Promise<Tally> {
  const tallies: Tally[] = []
  for await (const rows of rowsOf(tx, of, await copiedColumns(tx, of), merchant))
    tallies.push(
      tallyRows(
        rows.map((text) =>
          withSealed(of, merchant, text, (sealed, context) => cell.keyring.open(sealed, context)),
        ),
      ),
    )
  return {
    rows: tallies.reduce((total, { rows }) => total + rows, 0),
    sum: tallies.reduce((total, { sum }) => total + sum, 0n),
  }
}

/** Of rows, each as a text. */
export const tallyRows = (rows: readonly string[]): Tally => ({
  rows: rows.length,
  sum: rows.reduce((sum, row) => sum + BigInt(`0x${createHash('sha256').update(row).digest('hex')}`), 0n),
})

const copiedColumns = async (tx: Tx, { table, without = [] }: CopiedTable): Promise<string[]> =>
  (await columnsOfTable(tx, table)).filter((column) => !without.includes(column))

function rowsOf(
  tx: Tx,
  { table, owner = 'merchant_id', where = 'true' }: CopiedTable,
  columns: readonly string[],
  { merchantId, beganAt }: MovedMerchant,
): AsyncGenerator<readonly string[]> {
  // Both values are used by each query, whatever its condition.
  const query = `select ${columns.join(', ')} from ${table} s
    where ${owner} = $1 and $2::timestamptz is not null and ${where}`
  return readRows(tx, query, [merchantId, beganAt])
}

/** A row's text with its sealed column as `change` makes it. No such row has a number that JSON cannot carry. */
function withSealed(
  { sealed }: CopiedTable,
  { merchantId }: MovedMerchant,
  text: string,
  change: (sealed: Buffer, context: string) => Buffer,
): string {
  if (sealed === undefined) return text
  const row = JSON.parse(text) as Row
  const changed = change(bytesOf(row[sealed.column]), sealed.context(merchantId, row))
  return JSON.stringify({ ...row, [sealed.column]: `\\x${changed.toString('hex')}` })
}

function withKeySeal(seals: AccessSeals, text: string): string {
  const row = JSON.parse(text) as Row
  const seal = seals.seal('apiKey', {
    id: String(row.id),
    merchantId: row.merchant_id,
    livemode: row.livemode,
    keyHash: bytesOf(row.key_hash),
    scopes: row.scopes,
    revokedAt: null,
  })
  return JSON.stringify({ ...row, seal })
}

function withCoolOff(now: Date, text: string): string {
  const row = JSON.parse(text) as Row
  const waitMs = row.livemode === true ? COOL_OFF_MS : 0
  return JSON.stringify({ ...row, usable_at: new Date(now.getTime() + waitMs) })
}

/** PostgreSQL's text of bytes: `\x` and hexadecimal digits. */
const bytesOf = (value: unknown): Buffer => Buffer.from(String(value).slice(2), 'hex')
