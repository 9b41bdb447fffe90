import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { EvmAdapter } from '../src/chain/evm/evm-adapter.ts'
import { systemClock } from '../src/runtime/clock.ts'
import { type Anvil, newEvmAddress, startAnvil } from '../test/support/anvil.ts'
import { bytecodeOf, callData, deployTestToken, type TestToken } from '../test/support/evm-contracts.ts'
import { freePort } from '../test/support/free-port.ts'
import { EventReceiver } from './support/event-receiver.ts'
import { median, percentile, printFigure, spread } from './support/figure.ts'
import { startPaylink } from './support/paylink.ts'

const PAYMENTS = 30
const ROUNDS = 31
const MANY = 1_000_000
const FEW = 10
/** Token transfers to strangers in one block, by batches. */
const BATCHES = 20
const TRANSFERS_PER_BATCH = 60

/** A block as Base has it when it is busy: plain transfers, and batches of token transfers. */
async function fillBlock(anvil: Anvil, token: TestToken): Promise<void> {
  for (let batch = 0; batch < BATCHES; batch++) {
    const to = Array.from({ length: TRANSFERS_PER_BATCH }, () => newEvmAddress().address)
    const data = callData(
      'mintMany(address[],uint256[])',
      to,
      to.map(() => 5n),
    )
    await anvil.send({ to: token.contract, data, gas: 4_000_000 })
    await anvil.send({ to: newEvmAddress().address, value: 5n })
  }
  await anvil.mine(1)
}

function watching(anvil: Anvil, token: TestToken, addresses: number): EvmAdapter {
  const adapter = new EvmAdapter({
    chain: 'base',
    livemode: false,
    url: anvil.url,
    setting: 'TEST_BASE_RPC_URL',
    clock: systemClock,
    tokenContracts: { USDC: token.contract },
  })
  for (let added = 0; added < addresses; added++) adapter.watched.add([randomBytes(20)])
  return adapter
}

test('a block costs the same whether ten or a million addresses are watched', async () => {
  const anvil = await startAnvil()
  const token = await deployTestToken(anvil)
  const few = watching(anvil, token, FEW)
  global.gc?.()
  const memoryBefore = process.memoryUsage()
  const many = watching(anvil, token, MANY)
  global.gc?.()
  const memory = process.memoryUsage()
  const bytes = memory.arrayBuffers + memory.heapUsed - memoryBefore.arrayBuffers - memoryBefore.heapUsed
  try {
    for (const adapter of [few, many]) await adapter.connect()
    const below = await few.tip()
    await fillBlock(anvil, token)
    const timed = async (adapter: EvmAdapter) => {
      const before = process.cpuUsage()
      const update = await adapter.nextUpdate(below, 1)
      expect(update?.blocks).toHaveLength(1)
      const { user, system } = process.cpuUsage(before)
      return (user + system) / 1_000
    }
    for (let round = 0; round < 5; round++) for (const adapter of [few, many]) await timed(adapter)
    const pairs: (readonly [number, number])[] = []
    for (let round = 0; round < ROUNDS; round++) pairs.push([await timed(few), await timed(many)])
    printFigure({
      name: `A Base block of ${BATCHES * TRANSFERS_PER_BATCH} token transfers with 1,000,000 addresses watched ÷ with 10`,
      target: '≤1.5',
      measured: (median(pairs.map(([, ms]) => ms)) / median(pairs.map(([ms]) => ms))).toFixed(2),
      detail: `${median(pairs.map(([, ms]) => ms)).toFixed(1)} ms against ${median(pairs.map(([ms]) => ms)).toFixed(1)} ms of our own processor time`,
    })
    printFigure({
      name: 'Memory of 1,000,000 watched EVM addresses',
      target: '≤80 MB',
      measured: `${(bytes / 1e6).toFixed(0)} MB`,
    })
  } finally {
    for (const adapter of [few, many]) await adapter.close()
    await anvil.remove()
  }
}, 120_000)

test('a payment in a new block is reported soon', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'paylink-evm-latency-'))
  const anvil = await startAnvil()
  const token = await deployTestToken(anvil)
  const batch = await anvil.deploy(await bytecodeOf('BatchPayer'))
  const receiver = new EventReceiver()
  await receiver.start()
  const paylink = await startPaylink(['all'], {
    PORT: String(await freePort()),
    DATA_DIR: folder,
    TEST_BASE_RPC_URL: anvil.url,
    TEST_BASE_USDC_ADDRESS: token.contract,
    WEBHOOK_ALLOW_PRIVATE: '1',
  })
  try {
    const call = await receiver.subscribe(paylink)
    await expect
      .poll(
        () =>
          createInvoice(call, 'ETH_BASE').then(
            () => true,
            () => false,
          ),
        { timeout: 30_000 },
      )
      .toBe(true)
    const detectedMs: number[] = []
    for (let round = 0; round < PAYMENTS; round++) {
      const asset = round % 2 === 0 ? 'USDC_BASE' : 'ETH_BASE'
      const { id, address } = await createInvoice(call, asset)
      await receiver.arrival('invoice.created', id)
      if (asset === 'USDC_BASE') await anvil.send(token.mint(address, 10_000_000n))
      else {
        const value = 10n ** 16n
        const data = callData('pay(address[],uint256[])', [address], [value])
        await anvil.send({ to: batch, value, data })
      }
      await anvil.mine(1)
      const minedAt = performance.now()
      detectedMs.push((await receiver.arrival('invoice.payment_detected', id)) - minedAt)
    }
    printFigure({
      name: 'Block on an anvil (USDC, and Ether that a contract pays, in turns) → payment_detected webhook, p50',
      target: '≤200 ms',
      measured: `${median(detectedMs).toFixed(0)} ms`,
      detail: `p95 ${percentile(detectedMs, 0.95).toFixed(0)} ms, ${spread(detectedMs)}`,
    })
  } finally {
    await paylink.stop()
    receiver.stop()
    await anvil.remove()
    await rm(folder, { recursive: true, force: true })
  }
}, 120_000)

type Call = Awaited<ReturnType<EventReceiver['subscribe']>>

async function createInvoice(call: Call, asset: string) {
  const amount = asset === 'USDC_BASE' ? '10' : '0.01'
  const invoice = await call('/invoices', { amount, asset })
  return { id: String(invoice.id), address: String(invoice.address) }
}
