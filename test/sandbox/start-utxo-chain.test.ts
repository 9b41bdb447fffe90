import { stat } from 'node:fs/promises'
import { createServer, type Server } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { UtxoAdapter } from '../../src/chain/utxo/utxo-adapter.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { createLogger } from '../../src/runtime/log.ts'
import { type SandboxChain, startUtxoChain } from '../../src/sandbox/utxo/start-utxo-chain.ts'
import { SHOP_SCRIPT, temporaryFolder } from '../support/sandbox-state.ts'
import { until } from '../support/until.ts'

const BLOCKS_MAX = 200
/** SHOP_SCRIPT on both chains. */
const SHOP = {
  litecoin: 'rltc1qqurswpc8qurswpc8qurswpc8qurswpc8ntpxlg',
  bitcoin: 'bcrt1qqurswpc8qurswpc8qurswpc8qurswpc8dxm0gk',
}

let folder: Awaited<ReturnType<typeof temporaryFolder>>
const running: { stop(): Promise<void> }[] = []
beforeEach(async () => {
  folder = await temporaryFolder()
})
afterEach(async () => {
  await Promise.all(running.splice(0).map((one) => one.stop()))
  await folder.remove()
})

async function start(options: { chain?: 'litecoin' | 'bitcoin'; blockIntervalMs?: number } = {}) {
  const chain = await startUtxoChain({
    chain: options.chain ?? 'litecoin',
    dataDir: folder.path,
    clock: systemClock,
    log: createLogger('silent'),
    blockIntervalMs: options.blockIntervalMs ?? 0,
  })
  running.push(chain)
  return chain
}

async function watch(sandbox: SandboxChain): Promise<UtxoAdapter> {
  const adapter = new UtxoAdapter({
    chain: sandbox.chain,
    livemode: false,
    rpcUrl: sandbox.rpcUrl,
    rpcSetting: 'the sandbox chain',
    zmqUrl: null,
    clock: systemClock,
  })
  running.push({ stop: () => adapter.close() })
  adapter.watched.add([SHOP_SCRIPT.subarray(2)])
  expect(await adapter.connect()).toEqual({ parameters: 'regtest', health: { status: 'ok' } })
  return adapter
}

test.each(['litecoin', 'bitcoin'] as const)(
  'the watcher’s adapter follows a payment on the %s sandbox',
  async (chain) => {
    const sandbox = await start({ chain })
    const adapter = await watch(sandbox)
    const checkpoint = await adapter.tip()
    const payment = await sandbox.client.signPayment(SHOP[chain], 150_000n)
    await sandbox.client.send(payment.hex)
    const asset = chain === 'litecoin' ? 'LTC' : 'BTC'
    const transfer = { txid: payment.txid, outputIndex: 0, asset, amount: 150_000n, minimumConfirmations: 1 }
    const reading = await adapter.readMempool()
    expect(reading?.transfers).toMatchObject([transfer])
    expect(reading?.tip).toEqual(checkpoint)
    await sandbox.client.mine(3)
    const update = await adapter.nextUpdate(checkpoint, BLOCKS_MAX)
    expect(update?.blocks.map((block) => block.transfers.length)).toEqual([1, 0, 0])
    expect(update?.blocks[0]?.transfers).toMatchObject([transfer])
    expect((await adapter.readMempool())?.transfers).toEqual([])
  },
)

test('the adapter sees a payment leave in a reorganisation, wait, and return', async () => {
  const sandbox = await start()
  const adapter = await watch(sandbox)
  const checkpoint = await adapter.tip()
  const payment = await sandbox.client.signPayment(SHOP.litecoin, 150_000n)
  await sandbox.client.send(payment.hex)
  await sandbox.client.mine(2)
  const seen = await adapter.nextUpdate(checkpoint, BLOCKS_MAX)
  const { height } = await sandbox.client.reorganiseAway(payment.txid)
  expect(height).toBe(checkpoint.height + 3)
  const update = await adapter.nextUpdate(seen?.blocks.at(-1)?.block ?? checkpoint, BLOCKS_MAX)
  expect(update?.ancestor).toEqual(checkpoint)
  expect(update?.blocks.flatMap((block) => block.transfers)).toEqual([])
  expect((await adapter.readMempool())?.transfers).toMatchObject([{ txid: payment.txid }])
  await sandbox.client.release(payment.txid)
  await sandbox.client.mine(1)
  const back = await adapter.nextUpdate(update?.blocks.at(-1)?.block ?? checkpoint, BLOCKS_MAX)
  expect(back?.blocks.flatMap((block) => block.transfers)).toMatchObject([{ txid: payment.txid }])
})

test('the adapter finds a payment dead whose coin another transaction took', async () => {
  const sandbox = await start()
  const adapter = await watch(sandbox)
  const payment = await sandbox.client.signPayment(SHOP.litecoin, 150_000n)
  await sandbox.client.sendHeld(payment.hex)
  await sandbox.client.mine(1)
  expect((await adapter.readMempool())?.transfers).toHaveLength(1)
  await sandbox.client.send(payment.replacement.hex)
  expect((await adapter.readMempool())?.transfers).toEqual([])
  expect(await adapter.outcomesOf([payment.txid])).toEqual(new Map([[payment.txid, 'dead']]))
  await sandbox.client.mine(1)
  expect(await adapter.outcomesOf([payment.txid])).toEqual(new Map([[payment.txid, 'dead']]))
})

test('a payment is mined by itself soon after it was sent', async () => {
  const sandbox = await start({ blockIntervalMs: 20 })
  const adapter = await watch(sandbox)
  const checkpoint = await adapter.tip()
  const payment = await sandbox.client.signPayment(SHOP.litecoin, 150_000n)
  await sandbox.client.send(payment.hex)
  await until(async () => (await adapter.tip()).height > checkpoint.height + 2, { what: 'blocks come' })
  const update = await adapter.nextUpdate(checkpoint, BLOCKS_MAX)
  expect(update?.blocks.flatMap((block) => block.transfers)).toMatchObject([{ txid: payment.txid }])
})

test('an idle chain rests', async () => {
  const sandbox = await start({ blockIntervalMs: 5 })
  const adapter = await watch(sandbox)
  const before = await adapter.tip()
  await new Promise((resolve) => setTimeout(resolve, 100))
  expect(await adapter.tip()).toEqual(before)
})

test('a restart serves the same chain under the same address, and only its owner can read its files', async () => {
  const sandbox = await start()
  const payment = await sandbox.client.signPayment(SHOP.litecoin, 150_000n)
  await sandbox.client.send(payment.hex)
  await sandbox.stop()
  running.length = 0
  const again = await start()
  expect(again.rpcUrl).toBe(sandbox.rpcUrl)
  const adapter = await watch(again)
  expect((await adapter.readMempool())?.transfers).toMatchObject([{ txid: payment.txid }])
  for (const name of ['chain.log', 'rpc.json']) {
    expect((await stat(`${folder.path}/sandbox/litecoin/${name}`)).mode & 0o777).toBe(0o600)
  }
})

test('a second process uses the chain of the first, and takes over when that ends', async () => {
  const first = await start()
  const second = await start()
  expect(second.rpcUrl).toBe(first.rpcUrl)
  const [hash] = await second.client.mine(1)
  const adapter = await watch(second)
  expect((await adapter.tip()).hash).toBe(hash)
  await first.stop()
  running.splice(running.indexOf(first), 1)
  await until(
    () =>
      adapter.tip().then(
        (tip) => tip.hash === hash,
        () => false,
      ),
    { what: 'the second serves' },
  )
})

test('several that start at the same moment in an empty folder serve one chain', async () => {
  const chains = await Promise.all([start(), start(), start(), start()])
  expect(new Set(chains.map((chain) => chain.rpcUrl)).size).toBe(1)
  await Promise.all(chains.map((chain) => chain.client.mine(1)))
  const adapter = await watch(chains[0])
  expect((await adapter.tip()).height).toBe(101 + 4)
})

test('another program on the chain’s port moves the chain to a new one', async () => {
  const first = await start()
  const [hash] = await first.client.mine(1)
  await first.stop()
  running.length = 0
  const squatter = await listenOn(Number(new URL(first.rpcUrl).port))
  try {
    const again = await start()
    expect(again.rpcUrl).not.toBe(first.rpcUrl)
    expect((await (await watch(again)).tip()).hash).toBe(hash)
  } finally {
    squatter.close()
  }
})

/** A program that answers everything with a line of its own. */
async function listenOn(port: number): Promise<Server> {
  const server = createServer((socket) => socket.end('HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n'))
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  return server
}
