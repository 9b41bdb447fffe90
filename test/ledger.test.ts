import { afterAll, beforeAll, expect, test } from 'vitest'
import { insertLedgerTransfers, type LedgerTransfer, loadBalances } from '../src/db/ledger/ledger.ts'
import { migrate } from '../src/postgres/migrate.ts'
import { type Tenant, withTransaction } from '../src/postgres/transaction.ts'
import { createTestDatabase, type TestDatabase } from './support/database.ts'
import { seededRandom } from './support/random.ts'
import { seedMerchant } from './support/seed.ts'

let database: TestDatabase
let tenant: Tenant

beforeAll(async () => {
  database = await createTestDatabase()
  tenant = await seedMerchant(database)
})
afterAll(() => database.drop())

let count = 0
const deposit = (changes: Partial<LedgerTransfer> = {}): LedgerTransfer => ({
  id: `dep:litecoin-test:tx${count++}:0:1`,
  kind: 'deposit',
  invoiceId: null,
  paymentId: null,
  asset: 'LTC',
  from: 'chain',
  to: 'available',
  amount: 10n,
  usdCents: null,
  createdAt: new Date(),
  ...changes,
})

const post = (transfer: LedgerTransfer) =>
  withTransaction(database.pools.watcher, tenant, (tx) => insertLedgerTransfers(tx, tenant, [transfer]))

const sql = (text: string) =>
  withTransaction(database.pools.watcher, tenant, (tx) => tx.query<{ xid: string }>(text))

async function posted(): Promise<LedgerTransfer> {
  const transfer = deposit()
  await post(transfer)
  return transfer
}

async function balancesAfter(transferIds: string): Promise<bigint[]> {
  const { rows } = await database.owner.query<{ balance_after: bigint }>(
    `select balance_after from ledger_entry where merchant_id = $1 and transfer_id like $2 and position is not null
     order by position`,
    [tenant.merchantId, transferIds],
  )
  return rows.map((row) => row.balance_after)
}

async function standing(): Promise<{ readonly chain: bigint; readonly available: bigint }> {
  const rows = await withTransaction(database.pools.api, tenant, (tx) => loadBalances(tx, tenant))
  const sums = Object.fromEntries(rows.map((row) => [row.account, row.balance]))
  return { ...sums, chain: sums.chain ?? 0n, available: sums.available ?? 0n }
}

type Entry = {
  account: string
  asset?: string
  amount: string | number
  livemode?: boolean
  transactionId?: string
}

/** Entries as a role could write them by itself, for a transfer of this name. */
const entriesOf = (id: string, entries: readonly Entry[]): string => `insert into ledger_entry
    (merchant_id, transfer_id, account, asset, livemode, amount, created_at, position, balance_after, transaction_id)
  values ${entries
    .map(
      ({ account, asset = 'LTC', amount, livemode = false, transactionId = 'pg_current_xact_id()' }) =>
        `('${tenant.merchantId}', '${id}', '${account}', '${asset}', ${livemode}, '${amount}', now(), 7, 1000000, ${transactionId})`,
    )
    .join(', ')}`

const transferOf = (
  id: string,
  transactionId = 'pg_current_xact_id()',
): string => `insert into ledger_transfer
    (merchant_id, id, livemode, kind, created_at, transaction_id)
  values ('${tenant.merchantId}', '${id}', false, 'deposit', now(), ${transactionId})`

const wholeTransfer = (id: string, entries: readonly Entry[]): string =>
  `with written as (${transferOf(id)}) ${entriesOf(id, entries)}`

const BALANCED: readonly Entry[] = [
  { account: 'chain', amount: -5 },
  { account: 'available', amount: 5 },
]

test('balances are the sum of the entries', async () => {
  await post(deposit({ amount: 7n }))
  await post(deposit({ from: 'available', to: 'suspense', amount: 3n }))
  const rows = await withTransaction(database.pools.api, tenant, (tx) => loadBalances(tx, tenant))
  const sums = Object.fromEntries(rows.map((row) => [row.account, row.balance]))
  expect(sums).toEqual({ chain: -7n, available: 4n, suspense: 3n })
})

test('a ledger transfer cannot be posted twice', async () => {
  const transfer = deposit()
  await post(transfer)
  await expect(post(transfer)).rejects.toThrow(/duplicate key value/)
})

test('transfers that are posted at once in different orders wait for one another and all commit', async () => {
  await post(deposit({ to: 'pending', amount: 100n }))
  const storm = Array.from({ length: 20 }, (_, index) =>
    withTransaction(database.pools.watcher, tenant, async (tx) => {
      const coming = deposit({ to: 'pending', amount: 1n })
      const settling = deposit({ from: 'pending', to: 'available', amount: 1n })
      for (const transfer of index % 2 === 0 ? [coming, settling] : [settling, coming]) {
        await insertLedgerTransfers(tx, tenant, [transfer])
      }
    }),
  )
  const outcomes = await Promise.allSettled(storm)
  expect(outcomes.filter((outcome) => outcome.status === 'rejected')).toEqual([])
})

test('what does not sum to zero for each asset is refused by the statement that writes it', async () => {
  const wrong: readonly (readonly Entry[])[] = [
    [{ account: 'available', amount: 5 }],
    [...BALANCED, { account: 'pending', amount: 1 }],
    [
      { account: 'chain', asset: 'BTC', amount: -5 },
      { account: 'available', amount: 5 },
    ],
  ]
  for (const [index, entries] of wrong.entries()) {
    await expect(sql(wholeTransfer(`dep:unbalanced:${index}`, entries))).rejects.toThrow(/do not sum to zero/)
  }
})

test('a ledger transfer comes with its entries in one statement, and no entry comes without its transfer', async () => {
  await expect(sql(transferOf('dep:empty'))).rejects.toThrow(/has no entries/)
  await expect(sql(entriesOf('dep:nobody', BALANCED))).rejects.toThrow(/violates foreign key constraint/)
  const apart = withTransaction(database.pools.watcher, tenant, async (tx) => {
    await tx.query('set constraints all deferred')
    await tx.query(transferOf('dep:apart'))
    await tx.query(entriesOf('dep:apart', BALANCED))
  })
  await expect(apart).rejects.toThrow(/has no entries/)
})

test('entries cannot be added to a committed transfer, even when they sum to zero and claim to be as old', async () => {
  const { id } = await posted()
  const { rows } = await sql(`select transaction_id::text as xid from ledger_transfer where id = '${id}'`)
  const xid = `'${rows[0]?.xid}'`
  const added = (transactionId?: string): Entry[] => [
    { account: 'pending', asset: 'BTC', amount: 5, ...(transactionId && { transactionId }) },
    { account: 'chain', asset: 'BTC', amount: -5, ...(transactionId && { transactionId }) },
  ]
  for (const attempt of [
    entriesOf(id, added()),
    entriesOf(id, added(xid)),
    `${entriesOf(id, added(xid))} on conflict do nothing`,
    `merge into ledger_entry using (values ('pending', 5), ('chain', -5)) as one (name, units) on false
     when not matched then insert (merchant_id, transfer_id, account, asset, livemode, amount, created_at, transaction_id)
       values ('${tenant.merchantId}', '${id}', name, 'BTC', false, units, now(), ${xid})`,
  ]) {
    await expect(sql(attempt)).rejects.toThrow(/was changed after it was committed/)
  }
  // Nor can a transfer be prepared for a transaction to come.
  const ahead = `with written as (${transferOf('dep:ahead', `'99999999'`)}) ${entriesOf('dep:ahead', BALANCED)}`
  await expect(sql(ahead)).rejects.toThrow(/was changed after|has no entries of its own/)
})

test('a check that is brought forward, put off, or behind a savepoint lets nothing through', async () => {
  for (const when of ['immediate', 'deferred']) {
    const id = `dep:${when}`
    const added = withTransaction(database.pools.watcher, tenant, async (tx) => {
      await tx.query(`set constraints all ${when}`)
      await tx.query(wholeTransfer(id, BALANCED))
      await tx.query('set constraints all immediate')
      await tx.query(entriesOf(id, [{ account: 'pending', amount: 5 }]))
    })
    await expect(added).rejects.toThrow(/do not sum to zero/)
  }
  const before = await standing()
  await withTransaction(database.pools.watcher, tenant, async (tx) => {
    await tx.query('savepoint one')
    await tx.query(wholeTransfer('dep:savepoint', BALANCED))
    await tx.query('set constraints all immediate')
    await tx.query('rollback to savepoint one')
    await tx.query(wholeTransfer('dep:kept', BALANCED))
    await tx.query('savepoint two')
    await expect(tx.query(entriesOf('dep:savepoint', BALANCED))).rejects.toThrow(/foreign key/)
    await tx.query('rollback to savepoint two')
    await expect(tx.query(entriesOf('dep:kept', [{ account: 'pending', amount: 5 }]))).rejects.toThrow(
      /sum to zero/,
    )
    await tx.query('rollback to savepoint two')
  })
  expect(await standing()).toEqual({ ...before, chain: before.chain - 5n, available: before.available + 5n })
})

test('an entry that is not written moves no balance', async () => {
  const { id } = await posted()
  const before = await standing()
  for (const entries of [BALANCED, [{ account: 'available', amount: 1_000_000 }]]) {
    await sql(`${entriesOf(id, entries)} on conflict do nothing`)
    await sql(`${entriesOf(id, entries)} on conflict (merchant_id, transfer_id, account, asset) do nothing`)
    await expect(
      sql(`${entriesOf(id, entries)} on conflict (merchant_id, transfer_id, account, asset)
      do update set amount = 1`),
    ).rejects.toThrow(/permission denied/)
  }
  expect(await standing()).toEqual(before)
})

test('entries of one statement that share accounts each say what stood after them', async () => {
  const before = await standing()
  const both = `with written as (${transferOf('dep:both:1')}), also as (${transferOf('dep:both:2')}),
    first as (${entriesOf('dep:both:1', BALANCED)}) ${entriesOf('dep:both:2', BALANCED)}`
  await sql(both)
  expect(await standing()).toEqual({
    ...before,
    chain: before.chain - 10n,
    available: before.available + 10n,
  })
  expect(await balancesAfter('dep:both:%')).toEqual([before.available + 5n, before.available + 10n])

  // A third that is not written, beside a fourth that is.
  const more = `with written as (${transferOf('dep:both:4')}),
    first as (${entriesOf('dep:both:1', BALANCED)} on conflict do nothing) ${entriesOf('dep:both:4', BALANCED)}`
  await sql(more)
  expect(await balancesAfter('dep:both:4')).toEqual([before.available + 15n])
  expect(await standing()).toEqual({
    ...before,
    chain: before.chain - 15n,
    available: before.available + 15n,
  })
})

test('many transfers in one statement leave what the same ones leave one at a time', async () => {
  const accounts = ['chain', 'pending', 'suspense', 'available', 'reserved', 'fees'] as const
  const assets = ['LTC', 'BTC'] as const
  const random = seededRandom(7)
  const moves: {
    asset: (typeof assets)[number]
    from: (typeof accounts)[number]
    to: (typeof accounts)[number]
    amount: bigint
  }[] = []
  const standingOf = new Map<string, bigint>()
  while (moves.length < 120) {
    const [asset, from, to] = [random.pick(assets), random.pick(accounts), random.pick(accounts)]
    const held = from === 'chain' ? 1_000n : (standingOf.get(`${asset} ${from}`) ?? 0n)
    if (from === to || held < 1n) continue
    const amount = 1n + BigInt(random.below(Number(held)))
    standingOf.set(`${asset} ${from}`, held - amount)
    standingOf.set(`${asset} ${to}`, (standingOf.get(`${asset} ${to}`) ?? 0n) + amount)
    moves.push({ asset, from, to, amount })
  }
  const results = []
  for (const atOnce of [1, 7, 120]) {
    const own = await seedMerchant(database)
    const transfers = moves.map((move, at) => deposit({ ...move, id: `dep:many:${own.merchantId}:${at}` }))
    const given: (bigint | null)[] = []
    await withTransaction(database.pools.watcher, own, async (tx) => {
      for (let at = 0; at < transfers.length; at += atOnce)
        given.push(...(await insertLedgerTransfers(tx, own, transfers.slice(at, at + atOnce))))
    })
    const entries = await database.owner.query(
      `select split_part(transfer_id, ':', 4) as move, account, asset, amount, position, balance_after from ledger_entry
       where merchant_id = $1 order by position, 1, account`,
      [own.merchantId],
    )
    const balances = await withTransaction(database.pools.watcher, own, (tx) => loadBalances(tx, own))
    balances.sort((a, b) => `${a.asset} ${a.account}`.localeCompare(`${b.asset} ${b.account}`))
    results.push({ given, entries: entries.rows, balances })
  }
  expect(results[0]?.entries).toHaveLength(240)
  expect(results[1]).toEqual(results[0])
  expect(results[2]).toEqual(results[0])
})

test('where an entry stands is found without the older entries, however many there are', async () => {
  const [own, ...others] = await Promise.all(Array.from({ length: 10 }, () => seedMerchant(database)))
  if (own === undefined) throw new Error('no merchant')
  // Of ten merchants in turn, so that those of one are all over the table.
  const merchants = [own, ...others].map(({ merchantId }) => `'${merchantId}'`).join(', ')
  await sql(`with shop as (select id, n from unnest(array[${merchants}]) id, generate_series(1, 300) n),
    written as (insert into ledger_transfer (merchant_id, id, livemode, kind, created_at)
      select id, 'dep:old:' || n, false, 'deposit', now() from shop)
    insert into ledger_entry (merchant_id, transfer_id, account, asset, livemode, amount, created_at)
    select id, 'dep:old:' || n, account, 'LTC', false, amount, now()
    from shop, (values ('chain', -5), ('pending', 5)) as side (account, amount) order by n, id`)
  await database.owner.query('analyze ledger_entry, ledger_transfer, ledger_balance')
  await withTransaction(database.pools.watcher, own, async (tx) => {
    await tx.query(`set local plan_cache_mode = 'force_generic_plan'`)
    const readSoFar = async () => {
      const { rows } = await tx.query<{ read: number }>(
        `select (seq_tup_read + coalesce(idx_tup_fetch, 0))::int as read from pg_stat_xact_user_tables
         where relname = 'ledger_entry'`,
      )
      return rows[0]?.read ?? 0
    }
    const settled = (amount: bigint) => deposit({ from: 'pending', to: 'available', amount })
    await insertLedgerTransfers(tx, own, [settled(1n)])
    const before = await readSoFar()
    await insertLedgerTransfers(tx, own, [
      settled(2n),
      deposit({ asset: 'BTC', to: 'suspense' }),
      settled(3n),
    ])
    expect((await readSoFar()) - before).toBeLessThan(50)
  })
})

test('a temporary table stands in for no table of the ledger', async () => {
  const { id } = await posted()
  const before = await standing()
  for (const attempt of [
    wholeTransfer('dep:shadow', [{ account: 'available', amount: 5 }]),
    entriesOf(id, BALANCED),
  ]) {
    const shadowed = withTransaction(database.pools.watcher, tenant, async (tx) => {
      for (const table of ['ledger_transfer', 'ledger_entry', 'ledger_balance']) {
        await tx.query(`create temporary table ${table} (like public.${table}) on commit drop`)
        await tx.query(`grant all on pg_temp.${table} to public`)
      }
      await tx.query(transferOf(id).replace('ledger_transfer', 'pg_temp.ledger_transfer'))
      await tx.query(attempt.replaceAll(/insert into (ledger_\w+)/g, 'insert into public.$1'))
    })
    await expect(shadowed).rejects.toThrow(/sum to zero|duplicate key|was changed after/)
  }
  expect(await standing()).toEqual(before)
})

test('a function or operator in public is called by nothing that runs as the owner', async () => {
  // As in a database that PostgreSQL 14 or older made.
  await database.owner.query('grant create on schema public to public')
  await sql(`create function public.mine(text, boolean) returns text language plpgsql as $$
    begin raise exception 'called as %', current_user; end $$`)
  await sql('create operator public.|| (leftarg = text, rightarg = boolean, function = public.mine)')
  await expect(sql(`select 'a'::text || true`)).rejects.toThrow(/called as paylink_test_/)
  await posted()
  await sql('drop function public.mine(text, boolean) cascade')
  const { rows } = await database.owner.query(
    `select proname from pg_proc where pronamespace = 'public'::regnamespace
       and not coalesce('search_path=pg_catalog, pg_temp' = any(proconfig), false)`,
  )
  expect(rows).toEqual([])
})

test('a migration takes from everybody the right to create in public', async () => {
  await database.owner.query('grant create on schema public to public')
  await migrate(database.ownerUrl)
  await expect(sql('create function public.mine() returns int language sql return 1')).rejects.toThrow(
    /permission denied for schema public/,
  )
  await database.owner.query('grant create on schema public to paylink_watcher')
  await expect(migrate(database.ownerUrl)).rejects.toThrow(/paylink_watcher may create in the schema public/)
  await database.owner.query('revoke create on schema public from paylink_watcher')
})

test('no role that posts can turn the checks off, or go around them', async () => {
  for (const role of ['api', 'watcher'] as const) {
    const pool = database.pools[role]
    await expect(pool.query('set session_replication_role = replica')).rejects.toThrow(/permission denied/)
    for (const table of ['ledger_transfer', 'ledger_entry']) {
      await expect(pool.query(`alter table ${table} disable trigger all`)).rejects.toThrow(/must be owner/)
      await expect(pool.query(`copy ${table} from stdin`)).rejects.toThrow(/row-level security/)
      await expect(
        pool.query(`create trigger mine before insert on ${table} for each row
        execute function suppress_redundant_updates_trigger()`),
      ).rejects.toThrow(/permission denied/)
    }
  }
  const other = await seedMerchant(database)
  const foreign = withTransaction(database.pools.api, other, (tx) =>
    tx.query(wholeTransfer('dep:foreign', BALANCED)),
  )
  await expect(foreign).rejects.toThrow(/row-level security/)
  const mixed = BALANCED.map((entry) => ({ ...entry, livemode: entry.account === 'available' }))
  await expect(sql(wholeTransfer('dep:modes', mixed))).rejects.toThrow(
    /was changed after|sum to zero|foreign key/,
  )
})

test('what is no number or no finite one is no amount, and no account but the outside goes below zero', async () => {
  for (const amount of ['NaN', 'Infinity', '-Infinity', '0']) {
    const entries = [{ account: 'available', amount }]
    await expect(sql(wholeTransfer('dep:nan', entries))).rejects.toThrow(/ledger_entry_amount_check|overflow/)
  }
  await expect(post(deposit({ from: 'reserved', to: 'available' }))).rejects.toThrow(/ledger_balance/)
})

test('after all of this every balance is the sum, and the statement runs through without a gap', async () => {
  const { rows } = await database.owner.query<{ position: number; balance_after: bigint; right: bigint }>(
    `select position, balance_after, sum(amount) over (partition by asset, account order by position) as right
     from ledger_entry where merchant_id = $1 and position is not null order by position`,
    [tenant.merchantId],
  )
  expect(rows.length).toBeGreaterThan(40)
  expect(rows.map(({ position }) => position)).toEqual(rows.map((_, index) => index + 1))
  expect(rows.filter(({ balance_after: after, right }) => after !== right)).toEqual([])
  const { rows: off } = await database.owner.query(
    `select account from ledger_balance b full join (
       select merchant_id, livemode, asset, account, sum(amount) as total from ledger_entry group by 1, 2, 3, 4
     ) e using (merchant_id, livemode, asset, account) where b.balance is distinct from e.total`,
  )
  expect(off).toEqual([])
})

test('no running role can change or remove what is in the ledger', async () => {
  for (const role of ['api', 'watcher', 'delivery', 'signer'] as const) {
    for (const table of ['ledger_transfer', 'ledger_entry', 'ledger_balance']) {
      for (const statement of [
        `delete from ${table}`,
        `truncate ${table}`,

        `update ${table} set livemode = true`,
      ]) {
        await expect(database.pools[role].query(statement)).rejects.toThrow(
          /permission denied|does not exist/,
        )
      }
    }
    await expect(
      database.pools[role].query(
        `insert into ledger_balance values ('${tenant.merchantId}', false, 'BTC', 'available', 1)`,
      ),
    ).rejects.toThrow(/permission denied/)
  }
})
