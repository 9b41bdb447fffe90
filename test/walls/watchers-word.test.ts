import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runAudit } from '../../src/audit/run-audit.ts'
import { encodeEvmAddress } from '../../src/chain/evm/address.ts'
import { inspectOutcomes } from '../../src/doctor/inspect-signer.ts'
import type { ChainNode } from '../../src/nodes/chain-nodes.ts'
import { recordPayout } from '../../src/payouts/advance-payout.ts'
import { saveOutcomeSeal } from '../../src/payouts/store/outcome-seals.ts'
import { insertSweep, updateSweep } from '../../src/payouts/store/sweeps.ts'
import { type Tenant, withTransaction } from '../../src/postgres/transaction.ts'
import { newId } from '../../src/runtime/new-id.ts'
import { type Outcome, openOutcomeKey, sealOutcome, txidOf } from '../../src/secrets/outcome-key.ts'
import { EvmPayoutWorld } from '../support/evm-payout-world.ts'
import { forgeBalance } from '../support/forge-balance.ts'
import { OUTCOME_KEY } from '../support/payout-steps.ts'

/**
 * What became of a sweep or a payout the signer learns from the watcher: it has no node. It goes by what the watcher's process
 * has sealed, with a key that is in no database, and not by rows, which somebody with the watcher's login writes too.
 */

const ETHER = 10n ** 18n

let world: EvmPayoutWorld
beforeAll(async () => {
  world = await EvmPayoutWorld.open('base')
  await world.fuelHotWallet()
  const victim = await world.openShop('ETH_BASE', [4n * ETHER])
  const own = await world.payout(victim, 'ETH_BASE', '0.1')
  await world.until(victim, own.id, 'confirmed')
})
afterAll(() => world?.close())

/** What the audit says of a row. */
async function namedOf(id: string): Promise<string[]> {
  const node: ChainNode = {
    network: world.network,
    chain: 'base',
    livemode: false,
    rpcUrl: world.anvil.url,
    furtherUrls: [],
    rpcSetting: 'TEST_BASE_RPC_URL',
    zmqUrl: null,
    tokenContracts: { USDC: world.token },
    sandbox: null,
  }
  const results = await runAudit(world.database.owner, [node])
  return results
    .filter(({ findings }) => findings.some(({ subject }) => subject === id))
    .map(({ name }) => name)
}

/** A deposit that never came, as the watcher would have written it; its id. */
async function forgeDeposit(thief: Tenant, amount: bigint) {
  const { watcher } = world.database.pools
  const invoice = await world.openInvoice(thief, { asset: 'ETH_BASE', amount })
  const id = newId('payment', world.now)
  await watcher.query(
    `insert into transfer (merchant_id, id, livemode, invoice_id, network, txid, output_index, asset, amount, status,
       first_seen_at, detected_at, confirmed_at, confirmations_required, late, dust, announced_confirming,
       announced_review, ledger_bucket, ledger_postings, block_height, block_hash, block_time)
     values ($1, $2, false, $3, 'base-test', $4, 0, 'ETH_BASE', $5, 'confirmed', now(), now(), now(), 1, false, false, true,
       false, 'available', 1, 1, '0xforged', now())`,
    [thief.merchantId, id, invoice.id, `0x${'ab'.repeat(32)}`, amount],
  )
  await forgeBalance(watcher, thief, { asset: 'ETH_BASE', amount, now: world.now })
  return { id, addressBytes: invoice.addressBytes }
}

/** What the signer's log says of outcomes that nobody sealed. */
const unsealedSaid = (): unknown[] =>
  world.logged.filter((line) => line.includes('has not sealed it')).map((line) => JSON.parse(line))

async function turns(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) {
    await world.tracker().pass()
    await world.sign()
    await world.tracker().pass()
    await world.anvil.mine(1)
  }
}

test('with the watcher’s login a payout that was paid is called failed, and is not paid again', async () => {
  const { watcher } = world.database.pools
  const thief = await world.openShop('ETH_BASE', [ETHER])
  const first = await world.payout(thief, 'ETH_BASE', '0.9')
  await world.until(thief, first.id, 'submitted')
  const deps = { pool: watcher, clock: () => world.now }
  const fact = { kind: 'dead', code: 'reverted', unspent: [] } as const
  await recordPayout(deps, { tenant: thief, payoutId: first.id, fact })
  await world.anvil.mine(1)
  const second = await world.payout(thief, 'ETH_BASE', '0.9')
  await turns()
  expect(await world.holds('ETH_BASE', second.destination)).toBe(0n)
  expect(await world.holds('ETH_BASE', first.destination)).toBeGreaterThan(0n)
  expect(await namedOf(first.id)).toEqual(expect.arrayContaining(['outcomes_base-test', 'outcome_is_sealed']))
  expect(unsealedSaid()).toContainEqual(
    expect.objectContaining({ payoutId: second.id, unsealed: [first.id] }),
  )
})

test('with the watcher’s login a made-up deposit is called swept, and nobody is paid for it', async () => {
  const { watcher } = world.database.pools
  const thief = await world.openShop('ETH_BASE', [])
  const { id: transferId, addressBytes } = await forgeDeposit(thief, ETHER / 2n)
  const payout = await world.payout(thief, 'ETH_BASE', '0.4')
  const { rows } = await world.database.owner.query<{ idx: number }>(
    'select idx from deposit_address where merchant_id = $1',
    [thief.merchantId],
  )
  const { merchantId, livemode, network, asset } = payout
  const sweep = { merchantId, livemode, id: newId('sweep', world.now), payoutId: payout.id, network, asset }
  await withTransaction(watcher, thief, (tx) =>
    insertSweep(tx, {
      ...sweep,
      address: Buffer.from(addressBytes),
      keyIndex: rows[0]?.idx ?? 0,
      amount: ETHER / 2n,
      nonce: 0,
      delegationNonce: null,
      now: world.now,
      transferIds: [transferId],
    }),
  )
  await world.tracker().pass()
  await world.sign()
  const { rows: signed } = await world.database.owner.query<{ txid: string; cost: bigint }>(
    'select txid, cost from sweep_transaction where sweep_id = $1',
    [sweep.id],
  )
  const [transaction] = signed
  if (transaction !== undefined)
    await updateSweep(watcher, sweep, { status: 'done', transaction, finalAt: world.now })
  await turns()
  expect(transaction).toBeDefined()
  expect(await world.holds('ETH_BASE', payout.destination)).toBe(0n)
  expect(await namedOf(sweep.id)).toEqual(expect.arrayContaining(['outcomes_base-test', 'outcome_is_sealed']))
  expect(unsealedSaid()).toContainEqual(
    expect.objectContaining({ payoutId: payout.id, unsealed: [sweep.id] }),
  )
  // Whoever has the watcher's process has its key, and seals it: then it is paid, of what others have there.
  const landed = { kind: 'landed', network: 'base-test', txid: transaction?.txid ?? '' } as const
  const seal = sealOutcome(OUTCOME_KEY, landed)
  await saveOutcomeSeal(watcher, { ...landed, seal, now: world.now })
  await turns()
  expect(await world.holds('ETH_BASE', payout.destination)).toBeGreaterThan(0n)
})

test('with the watcher’s login a made-up deposit is said to be about to be swept, and the audit names it', async () => {
  const { watcher } = world.database.pools
  const thief = await world.openShop('ETH_BASE', [])
  const { id: transferId, addressBytes } = await forgeDeposit(thief, ETHER / 4n)
  const payout = await world.payout(thief, 'ETH_BASE', '0.2')
  const { rows } = await world.database.owner.query<{ idx: number }>(
    'select idx from deposit_address where merchant_id = $1',
    [thief.merchantId],
  )
  const { merchantId, livemode, network, asset } = payout
  const sweep = { merchantId, livemode, id: newId('sweep', world.now), payoutId: payout.id, network, asset }
  const address = Buffer.from(addressBytes)
  const terms = {
    address,
    keyIndex: rows[0]?.idx ?? 0,
    amount: ETHER / 4n,
    nonce: 0,
    delegationNonce: null,
    now: world.now,
  }
  await withTransaction(watcher, thief, (tx) =>
    insertSweep(tx, { ...sweep, ...terms, transferIds: [transferId] }),
  )
  const held = `${network} ${asset} ${encodeEvmAddress(address)}`
  expect(await namedOf(held)).toEqual(['balances_base-test'])
  await world.sign()
  const { rowCount } = await world.database.owner.query(
    `update sweep_transaction set created_at = now() - interval '25 hours' where sweep_id = $1`,
    [sweep.id],
  )
  expect(rowCount).toBe(1)
  expect(await namedOf(held)).toEqual(['balances_base-test'])
})

/** What a watcher's login can write: another key's seals, of whatever outcomes. */
async function forgeSeals(network: string, outcomes: readonly Outcome[]): Promise<void> {
  const key = openOutcomeKey(Buffer.alloc(32, 1))
  for (const outcome of outcomes)
    await saveOutcomeSeal(world.database.pools.watcher, {
      network,
      kind: outcome.kind,
      txid: txidOf(outcome),
      seal: sealOutcome(key, outcome),
      now: world.now,
    })
}

test('a seal by another key than the watcher’s counts for nothing, and is an alarm', async () => {
  const { watcher } = world.database.pools
  const thief = await world.openShop('ETH_BASE', [ETHER])
  const first = await world.payout(thief, 'ETH_BASE', '0.9')
  await world.until(thief, first.id, 'submitted')
  await world.anvil.mine(1)
  const deps = { pool: watcher, clock: () => world.now }
  const fact = { kind: 'dead', code: 'reverted', unspent: [] } as const
  await recordPayout(deps, { tenant: thief, payoutId: first.id, fact })
  const txids = (await world.signedFor(first.id)).payout
  await forgeSeals('base-test', [{ kind: 'failed', network: 'base-test', payoutId: first.id, txids }])
  const second = await world.payout(thief, 'ETH_BASE', '0.9')
  await turns()
  expect(await world.holds('ETH_BASE', second.destination)).toBe(0n)
  expect(world.logged.join('')).toContain('is not made with the key that the signer knows')
  // Of one payout no seal is good for another.
  const own = await world.openShop('ETH_BASE', [ETHER])
  const paid = await world.payout(own, 'ETH_BASE', '0.9')
  await world.until(own, paid.id, 'submitted')
  const genuine = sealOutcome(OUTCOME_KEY, {
    kind: 'failed',
    network: 'base-test',
    payoutId: paid.id,
    txids: (await world.signedFor(paid.id)).payout,
  })
  await saveOutcomeSeal(watcher, {
    network: 'base-test',
    kind: 'failed',
    txid: txids.at(-1) ?? '',
    seal: genuine,
    now: world.now,
  })
  await turns()
  expect(await world.holds('ETH_BASE', second.destination)).toBe(0n)
})

test('a seal that the signer refuses is made anew, behind any number of rows that no chain bears out', async () => {
  const { owner } = world.database
  const tenant = await world.openShop('ETH_BASE', [ETHER])
  const payout = await world.payout(tenant, 'ETH_BASE', '0.9')
  await world.tracker().pass()
  await world.sign()
  await world.tracker().pass()
  await world.anvil.mine(3)
  await world.tracker().pass()
  const [swept] = (await world.signedFor(payout.id)).sweeps
  await forgeSeals('base-test', [{ kind: 'landed', network: 'base-test', txid: swept ?? '' }])
  await world.sign()
  expect((await world.signedFor(payout.id)).payout).toEqual([])
  const text = (
    await inspectOutcomes(
      { dataDir: world.folder, secretKey: null, watcherKey: null },
      owner,
      () => world.now,
    )
  )
    .map((finding) => finding.text)
    .join()
  expect(text).toContain('have no seal of the watcher')
  // Newer ones that no chain bears out.
  await owner.query(
    `insert into sweep select (jsonb_populate_record(s, jsonb_build_object('id', 'swp_zzz' || n, 'nonce', n, 'txid', '0x' || lpad(n::text, 64, '0')))).*
     from sweep s, generate_series(1, 120) n where s.payout_id = $1 and s.status = 'done'`,
    [payout.id],
  )
  const tracker = world.tracker()
  for (let page = 0; page < 4; page++) {
    world.now = new Date(world.now.getTime() + 61_000)
    await tracker.pass()
  }
  await owner.query(`delete from sweep where id like 'swp_zzz%'`)
  await world.until(tenant, payout.id, 'confirmed')
})

test('with the watcher’s login nothing is made to stand from before outcomes were sealed', async () => {
  const { watcher } = world.database.pools
  const before = `insert into outcome_seal (network, kind, txid, from_before) values ('base-test', 'landed', '0x1', true)`
  await expect(watcher.query(before)).rejects.toThrow('permission denied')
  await expect(
    watcher.query(`insert into outcome_seal (network, kind, txid) values ('base-test', 'landed', '0x1')`),
  ).rejects.toThrow('outcome_seal_check')
  await expect(watcher.query('update outcome_seal set from_before = true')).rejects.toThrow(
    'permission denied',
  )
})

test('what stood in the books before outcomes were sealed is taken over once, and never again', async () => {
  const { owner } = world.database
  const tenant = await world.openShop('ETH_BASE', [ETHER])
  const paid = await world.payout(tenant, 'ETH_BASE', '0.3')
  await world.until(tenant, paid.id, 'confirmed')
  // A folder and a database of the release before, which migration 450 found.
  const path = join(world.folder, 'first-seen.jsonl')
  const kept = await readFile(path, 'utf8')
  const older = kept.split('\n').filter((line) => !line.includes('"outcome"'))
  await writeFile(path, older.join('\n'))
  await owner.query('update outcome_seal set seal = null, from_before = true')
  const next = await world.payout(tenant, 'ETH_BASE', '0.3')
  await world.until(tenant, next.id, 'submitted')
  // What comes to stand there later is not believed any more.
  const seen = await readFile(path, 'utf8')
  await owner.query(
    `insert into outcome_seal (network, kind, txid, from_before) values ('base-test', 'landed', '0xlater', true)`,
  )
  await world.sign()
  expect(await readFile(path, 'utf8')).toBe(seen)
})

test('what a watcher without a key recorded is sealed by the chain’s word as soon as one has the key', async () => {
  const tenant = await world.openShop('ETH_BASE', [ETHER])
  const payout = await world.payout(tenant, 'ETH_BASE', '0.3')
  await world.tracker().pass()
  await world.sign()
  for (let turn = 0; turn < 3; turn++) {
    await world.keylessTracker().pass()
    await world.sign()
    await world.anvil.mine(1)
  }
  expect(await world.holds('ETH_BASE', payout.destination)).toBe(0n)
  expect(world.logged.join('')).toContain('give the watcher WATCHER_KEY')
  const faults = (
    await inspectOutcomes(
      { dataDir: '/nowhere', secretKey: null, watcherKey: null },
      world.database.owner,
      () => world.now,
    )
  ).filter(({ kind }) => kind === 'fault')
  expect(faults).toMatchObject([
    { text: expect.stringContaining('have no seal of the watcher') },
    { text: expect.stringContaining('what the watcher read of the hot wallet has no seal') },
  ])
  await world.until(tenant, payout.id, 'confirmed', 90)
})
