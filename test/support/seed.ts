import { randomBytes } from 'node:crypto'
import { type KeyFamily, type Keyspace, keyspaceOf } from '../../src/core/assets.ts'
import type { Invoice } from '../../src/core/invoice/types.ts'
import { addDepositAddress } from '../../src/db/addresses/deposit-addresses.ts'
import { insertDepositAccount } from '../../src/db/deposits/deposit-accounts.ts'
import { insertInvoice } from '../../src/db/invoices/invoices.ts'
import { type Tenant, withTransaction } from '../../src/postgres/transaction.ts'
import { newId } from '../../src/runtime/new-id.ts'
import type { TestDatabase } from './database.ts'
import { makeInvoice } from './invoice.ts'

/** A merchant of its own, in test mode unless said otherwise. */
export async function seedMerchant(database: TestDatabase, livemode = false): Promise<Tenant> {
  const merchantId = newId('merchant', new Date())
  await database.owner.query(
    `insert into merchant (id, name, email, created_at) values ($1, 'Shop', 'owner@shop.example', now())`,
    [merchantId],
  )
  return { merchantId, livemode }
}

/** An invoice written as the API writes it, with a deposit address of its own. */
export async function seedInvoice(
  database: TestDatabase,
  tenant: Tenant,
  changes: Partial<Invoice> = {},
  addressBytes: Buffer = randomBytes(20),
): Promise<Invoice> {
  const invoice = makeInvoice({
    ...changes,
    merchantId: tenant.merchantId,
    livemode: tenant.livemode,
    id: newId('invoice', new Date()),
  })
  const keyspace = keyspaceOf(invoice.asset, invoice.livemode)
  const idx = await nextIndex(database, keyspace)
  await database.owner.query(
    `insert into address (keyspace, idx, program, address, parameters, created_at, assigned_at)
     values ($1, $2, $3, $4, 'regtest', now(), now())`,
    [keyspace, idx, addressBytes, invoice.address],
  )
  await withTransaction(database.owner, tenant, (tx) =>
    insertInvoice(tx, tenant, invoice, { keyspace, idx, addressBytes }),
  )
  return invoice
}

/** An index that no address of the keyspace has. */
async function nextIndex(database: TestDatabase, keyspace: string): Promise<number> {
  await database.owner.query(
    `insert into account_key (keyspace, path, created_at) values ($1, 'm', now()) on conflict do nothing`,
    [keyspace],
  )
  const { rows } = await database.owner.query<{ next_index: number }>(
    `update account_key set next_index = next_index + 1 where keyspace = $1 returning next_index - 1 as next_index`,
    [keyspace],
  )
  const index = rows[0]?.next_index
  if (index === undefined) throw new Error('no account key')
  return index
}

type SeededAddress = { readonly keyspace: Keyspace; readonly address: string; readonly addressBytes: Buffer }

/** A deposit account written as the API writes it, with an address of each family unless others are given. */
export async function seedDepositAccount(
  database: TestDatabase,
  tenant: Tenant,
  { serviceFeeBps = 0 } = {},
  addresses: readonly SeededAddress[] = FAMILIES.map((family) => someAddress(family, tenant.livemode)),
): Promise<string> {
  const { merchantId, livemode } = tenant
  const id = newId('depositAddress', new Date())
  const account = { merchantId, id, livemode, customerReference: id, serviceFeeBps, createdAtMs: Date.now() }
  await withTransaction(database.owner, tenant, (tx) => insertDepositAccount(tx, account))
  for (const address of addresses) await seedAddress(database, tenant, id, address)
  return id
}

/** One more address of an invoice or deposit account. */
export async function seedAddress(
  database: TestDatabase,
  tenant: Tenant,
  invoiceId: string,
  { keyspace, address, addressBytes }: SeededAddress,
): Promise<void> {
  const idx = await nextIndex(database, keyspace)
  await database.owner.query(
    `insert into address (keyspace, idx, program, address, parameters, created_at, assigned_at)
     values ($1, $2, $3, $4, 'regtest', now(), now())`,
    [keyspace, idx, addressBytes, address],
  )
  const deposit = { keyspace, idx, address, addressBytes, invoiceId, now: new Date() }
  await withTransaction(database.owner, tenant, (tx) => addDepositAddress(tx, tenant, deposit))
}

const FAMILIES = ['bitcoin', 'litecoin', 'evm', 'solana'] as const

function someAddress(family: KeyFamily, livemode: boolean): SeededAddress {
  const addressBytes = randomBytes(20)
  const keyspace = `${family}-${livemode ? 'live' : 'test'}` as const
  return { keyspace, address: `${family}-${addressBytes.toString('hex')}`, addressBytes }
}
