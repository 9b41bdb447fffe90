import pg from 'pg'
import type { TestDatabase } from '../../test/support/database.ts'

/**
 * Invoices of one merchant, open or paid, each with its address, and nothing else that belongs to them. Written by one statement a table, with
 * neither triggers nor foreign keys. Their addresses are watched, and signed by nobody: no page shows them.
 */
export async function seedInvoices(
  database: TestDatabase,
  count: number,
  what: { readonly status: 'awaiting_payment' | 'paid'; readonly merchantId?: string },
): Promise<void> {
  const { status, merchantId = `mer_${'0'.repeat(26)}` } = what
  const client = new pg.Client({ connectionString: database.ownerUrl })
  await client.connect()
  try {
    await client.query('begin; set local session_replication_role = replica')
    await client.query(
      `insert into merchant (id, name, email, created_at) values ($1, 'Shop', 'owner@shop.example', now())
       on conflict do nothing`,
      [merchantId],
    )
    await client.query(
      `insert into account_key (keyspace, path, next_index, created_at) values ('litecoin-test', 'm', $1, now())
       on conflict (keyspace) do update set next_index = excluded.next_index`,
      [count],
    )
    await client.query(ADDRESSES, [count])
    await client.query(INVOICES, [count, merchantId, status])
    await client.query(DEPOSIT_ADDRESSES, [count, merchantId])
    await client.query('commit')
    await client.query('vacuum (analyze)')
  } finally {
    await client.end()
  }
}

const NUMBERED = `(select n, 'inv_' || lpad(n::text, 26, '0') as invoice, left(md5(n::text) || md5('x' || n::text), 40) as program,
    'rltc1q' || left(md5(n::text) || md5('x' || n::text), 38) as address
  from generate_series(0, $1::int - 1) as n) one`

const ADDRESSES = `
  insert into address (keyspace, idx, program, address, parameters, created_at, assigned_at)
   select 'litecoin-test', n, decode(program, 'hex'), address, 'regtest', now(), now() from ${NUMBERED}`

const INVOICES = `
  insert into invoice (merchant_id, id, livemode, status, asset, amount, usd_cents, amount_source, tolerance_under,
     tolerance_over, confirmations, allow_asset_selection, address, created_at, expires_at, paid_at, announced, event_count)
   select $2, invoice, false, $3, 'LTC', 100000, 1000, 'merchant', 0, 0, '{"LTC":1}', false, address,
     now(), now() + interval '1 day', case $3::text when 'paid' then now() end,
     '{"detected":false,"paid":false,"overpaid":false,"expired":false,"reorged":false,"partialSums":[]}', 1
   from ${NUMBERED}`

const DEPOSIT_ADDRESSES = `
  insert into deposit_address (merchant_id, keyspace, idx, livemode, invoice_id, program, address, created_at)
   select $2, 'litecoin-test', n, false, invoice, decode(program, 'hex'), address, now() from ${NUMBERED}`
