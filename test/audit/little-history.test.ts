import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { type CheckResult, runAudit } from '../../src/audit/run-audit.ts'
import { type RpcProxy, startRpcProxy } from '../support/rpc-proxy.ts'
import { type DrivenSolana, solanaDriver } from '../support/solana-driver.ts'
import { WatchedChain } from '../support/watched-chain.ts'

/** What the auditor says of Solana payments that stand below the oldest block that the node has. */

const BLOCKS_ABOVE = 600

let watched: WatchedChain<DrivenSolana>
let proxy: RpcProxy
/** Slots of the two payments, and the oldest that the node keeps: one of them is below it. */
let old: number
let kept: number
let recent: number

beforeAll(async () => {
  watched = await WatchedChain.open(solanaDriver('blocks'))
  proxy = await startRpcProxy(watched.chain.url)
  old = await paid()
  await watched.chain.mine(BLOCKS_ABOVE)
  recent = await paid()
  kept = recent - 20
})
afterEach(() => proxy.tellTheTruth())
afterAll(async () => {
  await watched.close()
  await proxy.close()
})

async function paid(): Promise<number> {
  const invoice = await watched.openInvoice([await watched.watchAtTip()])
  const height = (await watched.state()).height ?? 0
  await watched.chain.pay(invoice.address, watched.driver.amount)
  await watched.chain.mine(1)
  await watched.untilStatus(invoice.id, 'paid')
  await watched.stopWatchers()
  const { rows } = await watched.database.owner.query<{ slot: number }>(
    'select block_height as slot from transfer where block_height > $1',
    [height],
  )
  return rows[0]?.slot ?? 0
}

/** As agave answers once its oldest blocks are put away: a list begins at the lowest that it has. */
function putAway(): void {
  proxy.lie('getBlocks', (slots) => (slots as number[]).filter((slot) => slot >= kept))
  proxy.lie('getFirstAvailableBlock', () => kept)
}

async function audit(): Promise<CheckResult | undefined> {
  const place = { network: 'solana-test', chain: 'solana', livemode: false, sandbox: null } as const
  const urls = { rpcUrl: proxy.url, rpcSetting: 'TEST_SOLANA_RPC_URL', furtherUrls: [], zmqUrl: null }
  const results = await runAudit(watched.database.owner, [{ ...place, ...urls, tokenContracts: {} }])
  return results.find(({ name }) => name === 'chain_solana-test')
}

/** Audits while the payment in this slot is recorded in a block that is not the chain's, or elsewhere. */
async function auditWith(slot: number, moved: { readonly hash?: string; readonly height?: number }) {
  const { owner } = watched.database
  const { rows } = await owner.query('select block_hash as hash from transfer where block_height = $1', [
    slot,
  ])
  const { hash = rows[0].hash, height = slot } = moved
  const put = 'update transfer set block_height = $1, block_hash = $2 where block_height = $3'
  await owner.query(put, [height, hash, slot])
  try {
    return await audit()
  } finally {
    await owner.query(put, [slot, rows[0].hash, height])
  }
}

const ANOTHER = '4uQeVj5tqViQh7yWWGStvkEG1Zmhx6uasJtWCJziofM'

test('a payment below what the node keeps is not checked, and is no finding', async () => {
  putAway()
  expect(await audit()).toMatchObject({
    findings: [],
    notChecked: `the node keeps blocks from slot ${kept} on: 1 older one with payments was not checked`,
  })
})

test('a payment that is not on the chain is found where the node has its slot, and besides what it has not', async () => {
  expect(await auditWith(old, { hash: ANOTHER })).toMatchObject({ findings: [{}], notChecked: null })
  putAway()
  const result = await auditWith(recent, { hash: ANOTHER })
  expect(result).toMatchObject({ findings: [{}], notChecked: expect.stringMatching(/1 older one/) })
  expect(result?.findings[0]?.detail).toContain(`${ANOTHER}, which is not on the node's chain`)
})

test('a node that hides a block which it says to keep has its payment found missing', async () => {
  putAway()
  proxy.lie('getFirstAvailableBlock', () => 0)
  expect(await audit()).toMatchObject({ findings: [{}], notChecked: null })
})

test('a node that keeps everything has everything checked', async () => {
  expect(await audit()).toMatchObject({ findings: [], notChecked: null })
})
