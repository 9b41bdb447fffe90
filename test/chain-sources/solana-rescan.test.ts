import { randomBytes } from 'node:crypto'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { SolanaAdapter } from '../../src/chain/solana/solana-adapter.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { makeDataDir, runProgram } from '../support/app.ts'
import { startRpcProxy } from '../support/rpc-proxy.ts'
import { type DrivenSolana, solanaDriver } from '../support/solana-driver.ts'
import { lever } from '../support/solana-payer.ts'
import { WatchedChain } from '../support/watched-chain.ts'

const SKIPPED_SLOTS = 60
/** More than are looked at in one round. */
const STRANGERS = 150

let watched: WatchedChain<DrivenSolana>
let place: Awaited<ReturnType<typeof makeDataDir>>
beforeAll(async () => {
  place = await makeDataDir()
  watched = await WatchedChain.open(solanaDriver('accounts'))
})
afterEach(() => watched.stopWatchers())
afterAll(async () => {
  await watched.close()
  await place.remove()
})

const rescanAt = (rpcUrl: string, ...args: string[]) =>
  runProgram(['rescan', '--network', 'solana-test', ...args], {
    DATABASE_URL: watched.database.ownerUrl,
    DATA_DIR: place.dataDir,
    TEST_SOLANA_RPC_URL: rpcUrl,
  })
const rescan = (...args: string[]) => rescanAt(watched.chain.url, ...args)

const tipSlot = async () => Number(await lever(watched.chain.url, 'getSlot', [{ commitment: 'confirmed' }]))

/** The checkpoint jumps to the tip, past blocks that nobody read. */
async function skipToTip(): Promise<number> {
  const height = await tipSlot()
  await watched.database.owner.query('update network_state set height = $1, hash = $2', [
    height,
    await watched.chain.tipHash(),
  ])
  return height
}

test('payments in blocks that were skipped are recorded by a rescan, once, across slots without a block', async () => {
  const { chain } = watched
  await watched.watchAtTip()
  await watched.stopWatchers()
  const from = (await tipSlot()) + 1
  const [first, second] = [await watched.openInvoice([]), await watched.openInvoice([])]
  await chain.pay(first.address, watched.driver.amount)
  await chain.payer.mine(2, SKIPPED_SLOTS)
  await chain.pay(second.address, watched.driver.amount)
  await chain.payer.mine(2, SKIPPED_SLOTS)
  const to = await skipToTip()
  const told = await rescan('--from', String(from))
  expect(told).toMatchObject({ code: 0 })
  expect(told.stdout).toBe(
    `solana-test: 4 blocks to ${to} read again, 2 payments in them, 2 of them were missing and are recorded now.\n`,
  )
  // It is the watcher that hears the chain's word.
  for (const { id } of [first, second]) expect(await watched.statusOf(id)).toBe('confirming')
  await watched.watchAtTip()
  for (const { id } of [first, second]) await watched.untilStatus(id, 'paid')
  await watched.stopWatchers()
  const again = await rescan('--from', String(from), '--json')
  expect(JSON.parse(again.stdout)).toMatchObject({ blocks: 4, transfers: 2, recorded: 0 })
  for (const { id } of [first, second]) {
    expect(await watched.eventsOf(id)).toEqual(['payment_detected', 'confirming', 'paid'])
  }
})

test('a node that leaves a block out, or no longer has the blocks, is not believed', async () => {
  await watched.watchAtTip()
  await watched.stopWatchers()
  const from = (await tipSlot()) + 1
  await watched.chain.mine(4)
  const to = await skipToTip()
  const proxy = await startRpcProxy(watched.chain.url)
  try {
    for (const left of [from, from + 1, to - 1]) {
      proxy.lie('getBlocks', (list) => (list as number[]).filter((slot) => slot !== left))
      const told = await rescanAt(proxy.url, '--from', String(from), '--to', String(to - 1))
      expect(told).toMatchObject({ code: 1 })
      expect(told.stderr).toMatch(/do not follow one another/)
    }
    proxy.lie('getBlocks', (list) => list)
    proxy.lie('getFirstAvailableBlock', () => from + 1)
    const pruned = await rescanAt(proxy.url, '--from', String(from))
    expect(pruned).toMatchObject({ code: 1 })
    expect(pruned.stderr).toContain(`begin at --from ${from + 1}`)
  } finally {
    await proxy.close()
  }
})

test('addresses that nobody issued cannot be looked for, and the command says why', async () => {
  const told = await rescan('--from', '1', '--ahead', '10')
  expect(told).toMatchObject({ code: 2 })
  expect(told.stderr).toMatch(/--ahead is not for Solana: its addresses can be derived by the signer alone/)
})

test('a payment that came before its checkout was seen to be open is found though the chain rests', async () => {
  const { chain } = watched
  let open: Uint8Array[] = []
  const adapter = new SolanaAdapter({
    livemode: false,
    rpcUrl: chain.url,
    rpcSetting: 'TEST_SOLANA_RPC_URL',
    clock: systemClock,
    way: 'accounts',
    openAddresses: async () => open,
  })
  try {
    const from = await adapter.tip()
    adapter.watched.add(Array.from({ length: STRANGERS }, () => randomBytes(32)))
    const { address, addressBytes } = await chain.newAddress()
    adapter.watched.add([addressBytes])
    const txid = await chain.pay(address, watched.driver.amount)
    await chain.mine(2)
    const update = await adapter.nextUpdate(from, 10)
    expect(update?.blocks.flatMap(({ transfers }) => transfers)).toEqual([])
    const checkpoint = update?.blocks.at(-1)?.block ?? from
    expect(await adapter.nextUpdate(checkpoint, 10)).toBe(null)
    open = [addressBytes]
    const late = await adapter.nextUpdate(checkpoint, 10)
    expect(late?.blocks.flatMap(({ transfers }) => transfers)).toMatchObject([{ txid }])
    expect(late?.blocks.at(-1)?.block).toEqual(checkpoint)
    expect(await adapter.nextUpdate(checkpoint, 10)).toBe(null)
  } finally {
    await adapter.close()
  }
})

test('a late payment to a closed checkout is reported again if the first report was not recorded', async () => {
  const { chain } = watched
  const adapter = new SolanaAdapter({
    livemode: false,
    rpcUrl: chain.url,
    rpcSetting: 'TEST_SOLANA_RPC_URL',
    clock: systemClock,
    way: 'accounts',
    openAddresses: async () => [],
  })
  try {
    let checkpoint = await adapter.tip()
    const { address, addressBytes } = await chain.newAddress()
    // Looked at in every second round, the others filling the first.
    adapter.watched.add([...Array.from({ length: STRANGERS }, () => randomBytes(32)), addressBytes])
    const round = async () => {
      await chain.mine(1)
      const update = await adapter.nextUpdate(checkpoint, 10)
      if (update === null) throw new Error('a block came')
      return update
    }
    for (let rounds = 0; rounds < 2; rounds++) checkpoint = (await round()).tip
    const txid = await chain.pay(address, watched.driver.amount)
    const found: string[] = []
    for (let rounds = 0; rounds < 6; rounds++) {
      const update = await round()
      const told = update.blocks.flatMap(({ transfers }) => transfers.map((transfer) => transfer.txid))
      found.push(...told)
      // Whoever was told of it first has died before it was recorded.
      if (told.length === 0 || found.length > 1) checkpoint = update.tip
    }
    expect(found).toEqual([txid, txid])
  } finally {
    await adapter.close()
  }
})
