import { afterAll, beforeAll, expect, test } from 'vitest'
import { type CheckResult, runAudit } from '../../src/audit/run-audit.ts'
import type { Payout } from '../../src/core/payout/payout.ts'
import type { ChainNode } from '../../src/nodes/chain-nodes.ts'
import type { Tenant } from '../../src/postgres/transaction.ts'
import { PayoutWorld } from '../support/payout-world.ts'
import { startSandboxMoney } from '../support/sandbox-money.ts'

const LTC = 100_000_000n
let money: Awaited<ReturnType<typeof startSandboxMoney>>
let world: PayoutWorld
let node: ChainNode
let tenant: Tenant
let confirmed: Payout

/** A merchant with deposits, one payout that is confirmed and one that is on its way, and books that agree with the chain. */
beforeAll(async () => {
  money = await startSandboxMoney()
  world = await PayoutWorld.open(money)
  tenant = await world.openShop([LTC, LTC / 2n, LTC / 4n])
  confirmed = await world.payout(tenant, '0.6')
  await turn()
  await money.mine(1)
  await world.tracker().pass()
  await world.payout(tenant, '0.3')
  await turn()
  await readChain()
  node = {
    network: world.network,
    chain: 'litecoin',
    livemode: false,
    rpcUrl: money.rpcUrl,
    furtherUrls: [],
    rpcSetting: 'TEST_LITECOIN_RPC_URL',
    zmqUrl: null,
    tokenContracts: {},
    sandbox: null,
  }
})
afterAll(async () => {
  await world?.close()
  await money?.remove()
})

async function turn(): Promise<void> {
  await world.sign()
  await world.tracker().pass()
}

/** What a watcher would have written of the blocks. */
async function readChain(): Promise<void> {
  const { owner } = world.database
  const hashAt = async (height: number) => String(await world.rpc.callRaw('getblockhash', [height]))
  const { rows } = await owner.query<{ height: number }>(
    'select distinct block_height as height from transfer',
  )
  for (const { height } of rows) {
    await owner.query('update transfer set block_hash = $2 where block_height = $1', [
      height,
      await hashAt(height),
    ])
  }
  const tip = Number(await world.rpc.callRaw('getblockcount', []))
  await owner.query('update network_state set height = $2, hash = $3 where network = $1', [
    world.network,
    tip,
    await hashAt(tip),
  ])
}

const MONEY_CHECKS = /^(chain_|coins_|payout_|reserved_|balance_)/
const audit = async (): Promise<CheckResult[]> =>
  (await runAudit(world.database.owner, [node])).filter(({ name }) => MONEY_CHECKS.test(name))
const broken = async (): Promise<string[]> =>
  (await audit()).filter(({ findings }) => findings.length > 0).map(({ name }) => name)

test('books that agree with the chain have nothing to find, and the chain was asked', async () => {
  const results = await audit()
  expect((await world.load(tenant, confirmed.id)).status).toBe('confirmed')
  expect(results.filter(({ notChecked }) => notChecked !== null)).toEqual([])
  expect(results.flatMap(({ findings }) => findings)).toEqual([])
  expect(results.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['chain_litecoin-test', 'coins_litecoin-test', 'coins_are_the_balances']),
  )
})

/** The coin of the payout under way, as if it were another output, in the books and in what the signer says it spends. */
const moveSpentCoin = (by: string): string =>
  `with input as (update payout_input set output_index = output_index ${by}
       where payout_id in (select id from payout where status = 'submitted') returning txid)
     update transfer set output_index = output_index ${by} where txid in (select txid from input)`

/** What is broken, in which check it shows, and how it is mended again. */
const BREAKS: readonly (readonly [what: string, check: string, breakIt: string, mendIt: string])[] = [
  [
    'a payment is recorded with a unit more than it was',
    'chain_litecoin-test',
    `update transfer set amount = amount + 1 where amount = 25000000`,
    `update transfer set amount = amount - 1 where amount = 25000001`,
  ],
  [
    'a payment stands in another block than the chain has it in',
    'chain_litecoin-test',
    `update transfer set block_height = block_height - 1 where amount = 25000000`,
    `update transfer set block_height = block_height + 1 where amount = 25000000`,
  ],
  [
    'a coin of a balance was never on the chain',
    'coins_litecoin-test',
    `update payout_change set output_index = output_index + 7`,
    `update payout_change set output_index = output_index - 7`,
  ],
  [
    'the change of a payout is worth a unit less',
    'coins_are_the_balances',
    `update payout_change set amount = amount - 1`,
    `update payout_change set amount = amount + 1`,
  ],
  [
    'a payout says that it is confirmed and spent nothing on the chain',
    'coins_litecoin-test',
    `insert into payout_input select merchant_id, network, txid, output_index, livemode,
       (select id from payout where status = 'confirmed') from transfer where amount = 25000000`,
    `delete from payout_input where txid in (select txid from transfer where amount = 25000000)`,
  ],
  [
    'a coin that a signed payout spends was never on the chain',
    'coins_litecoin-test',
    moveSpentCoin('+ 7'),
    moveSpentCoin('- 7'),
  ],
]

test.each(BREAKS)('the auditor notices that %s', async (_what, check, breakIt, mendIt) => {
  const { owner } = world.database
  expect((await owner.query(breakIt)).rowCount).toBeGreaterThan(0)
  expect(await broken()).toContain(check)
  await owner.query(mendIt)
  expect(await broken()).toEqual([])
})

test('the auditor notices a payment that stands on the chain and nowhere in the books', async () => {
  const { owner } = world.database
  await owner.query(`create table taken as select * from transfer where amount = 25000000`)
  await owner.query(`delete from transfer where amount = 25000000`)
  expect(await broken()).toContain('chain_litecoin-test')
  await owner.query('insert into transfer select * from taken')
  expect(await broken()).toEqual([])
})

test('an unreachable node is reported as not checked, and nothing is called wrong', async () => {
  const away = { ...node, rpcUrl: 'http://user:password@127.0.0.1:9' }
  const results = await runAudit(world.database.owner, [away])
  const chains = results.filter(({ name }) => /^(chain|coins)_litecoin/.test(name))
  expect(chains).toHaveLength(2)
  for (const { findings, notChecked } of chains) {
    expect(findings).toEqual([])
    expect(notChecked).not.toBeNull()
    expect(notChecked).not.toContain('password')
  }
})

test('payments on a network whose node was taken out of the settings are reported as not checked', async () => {
  const results = await runAudit(world.database.owner, [])
  const [chain, ...others] = results.filter(({ notChecked }) => notChecked !== null)
  expect(others).toEqual([])
  expect(chain?.name).toBe('chain_litecoin-test')
  expect(chain?.notChecked).toContain('no node of this network')
})

test('a coin that a payout has just spent, and that is not final, is no discrepancy', async () => {
  await money.mine(1)
  await readChain()
  const { rows } = await world.database.owner.query<{ txid: string; at: number }>(
    `select i.txid, i.output_index as at from payout_input i join payout p on p.id = i.payout_id
     where p.status = 'submitted'`,
  )
  expect(rows.length).toBeGreaterThan(0)
  for (const { txid, at } of rows) expect(await world.rpc.callRaw('gettxout', [txid, at, false])).toBeNull()
  expect(await broken()).toEqual([])
})
