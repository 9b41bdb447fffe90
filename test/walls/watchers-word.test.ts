import { afterAll, beforeAll, expect, test } from 'vitest'
import { runAudit } from '../../src/audit/run-audit.ts'
import type { ChainNode } from '../../src/nodes/chain-nodes.ts'
import { recordPayout } from '../../src/payouts/record-payout.ts'
import { insertSweep, updateSweep } from '../../src/payouts/store/sweeps.ts'
import { type Tenant, withTransaction } from '../../src/postgres/transaction.ts'
import { newId } from '../../src/runtime/new-id.ts'
import { EvmPayoutWorld } from '../support/evm-payout-world.ts'
import { forgeBalance } from '../support/forge-balance.ts'

/**
 * What became of a deposit, a sweep or a payout the signer learns from the watcher's rows alone: it has no node. Somebody
 * with that login is paid out of what merchants share in the hot wallet. The audit, which asks the chain, names it.
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
    usdcContract: world.token,
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
  return { id, program: invoice.program }
}

async function turns(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) {
    await world.tracker().pass()
    await world.sign()
    await world.tracker().pass()
    await world.anvil.mine(1)
  }
}

test('the audit names a payout that was paid and that the watcher’s login calls failed', async () => {
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
  // The wall that is missing: the signer knows no chain.
  expect(await world.holds('ETH_BASE', second.destination)).toBeGreaterThan(0n)
  expect(await namedOf(first.id)).toContain('carried_base-test')
})

test('the audit names a deposit that the watcher’s login made up and says was swept', async () => {
  const { watcher } = world.database.pools
  const thief = await world.openShop('ETH_BASE', [])
  const { id: transferId, program } = await forgeDeposit(thief, ETHER / 2n)
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
      address: Buffer.from(program),
      keyIndex: rows[0]?.idx ?? 0,
      amount: ETHER / 2n,
      nonce: 0,
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
  const [carrier] = signed
  if (carrier !== undefined)
    await updateSweep(watcher, sweep, { status: 'done', carrier, finalAt: world.now })
  await turns()
  // The wall that is missing: the signer knows no chain.
  expect(await world.holds('ETH_BASE', payout.destination)).toBeGreaterThan(0n)
  expect(await namedOf(sweep.id)).toContain('carried_base-test')
})
