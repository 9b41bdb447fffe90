import { execFileSync, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase } from '../test/support/database.ts'
import { callData } from '../test/support/evm-contracts.ts'
import { type DrivenAnvil, evmDriver } from '../test/support/evm-driver.ts'
import { freePort } from '../test/support/free-port.ts'
import { WatchedChain } from '../test/support/watched-chain.ts'
import { median, printFigure, spread } from './support/figure.ts'
import { numberOf } from './support/number-of.ts'

const BLOCKS = numberOf('PONDER_BLOCKS', 3_000)
const ROUNDS = numberOf('PONDER_ROUNDS', 3)
/** Transfers in each block. Base has some hundreds of USDC; most are none of ours. */
const TRANSFERS_PER_BLOCK = 10
const BLOCKS_PER_PAYMENT = 20
const STRANGERS = 100
/** Empty blocks above: what ponder holds for final begins so far below the tip. */
const BLOCKS_ABOVE = 70
const POLL_MS = 20
const ROUND_MS_MAX = 20 * 60_000
const DAY_MS = 86_400_000
const PONDER = fileURLToPath(new URL('./ponder', import.meta.url))

// Every block is traced, and a node that has no state of it left cannot.
const driver = evmDriver('USDC_BASE', {}, { statesMax: BLOCKS + 1_000 })
let chain: DrivenAnvil
let folder: string
/** A database for each round, watched up to the block below the first transfer. */
const shops: WatchedChain<DrivenAnvil>[] = []
const addresses = Array.from({ length: Math.ceil(BLOCKS / BLOCKS_PER_PAYMENT) }, () => randomBytes(20))
let start = 0

const addressOf = (addressBytes: Buffer): string => `0x${addressBytes.toString('hex')}`

beforeAll(async () => {
  if (!existsSync(join(PONDER, 'node_modules')))
    execFileSync('npm', ['ci', '--prefix', PONDER], { stdio: 'inherit' })
  chain = await driver.start()
  folder = await mkdtemp(join(tmpdir(), 'paylink-ponder-'))
  await writeFile(join(folder, 'addresses'), addresses.map(addressOf).join('\n'))
  for (let round = 0; round < ROUNDS; round++) shops.push(await openShop())
  start = await chain.anvil.height()
  await sendTransfers()
})
afterAll(async () => {
  for (const shop of shops) await shop.close()
  await chain?.remove()
  if (folder !== undefined) await rm(folder, { recursive: true, force: true })
})

/** A shop with an invoice for each address, whose watcher stands at the tip and is stopped. */
async function openShop(): Promise<WatchedChain<DrivenAnvil>> {
  let next = 0
  const newAddress = async () => {
    const addressBytes = addresses[next++] ?? randomBytes(20)
    return { address: addressOf(addressBytes), addressBytes }
  }
  const shared = { ...chain, newAddress, remove: async () => {} }
  const shop = await WatchedChain.open({ ...driver, start: async () => shared })
  await shop.watchAtTip()
  await shop.stopWatchers()
  const expiresAtMs = Date.now() + DAY_MS
  for (const _ of addresses) await shop.openInvoice([], { expiresAtMs })
  return shop
}

/** Blocks with transfers to strangers, and every few blocks one to an address of ours. */
async function sendTransfers(): Promise<void> {
  const { anvil, token } = chain
  const strangers = Array.from({ length: STRANGERS }, () => addressOf(randomBytes(20)))
  for (let block = 0; block < BLOCKS; block++) {
    const ours = block % BLOCKS_PER_PAYMENT === 0 ? addresses[block / BLOCKS_PER_PAYMENT] : undefined
    const to = Array.from({ length: TRANSFERS_PER_BLOCK }, (_, index) =>
      index === 0 && ours !== undefined
        ? addressOf(ours)
        : (strangers[(block * TRANSFERS_PER_BLOCK + index) % STRANGERS] ?? ''),
    )
    const values = to.map(() => driver.amount)
    const data = callData('mintMany(address[],uint256[])', to, values)
    await anvil.send({ to: token.contract, data, gas: 1_500_000 })
    await anvil.mine(1)
  }
  await anvil.mine(BLOCKS_ABOVE)
}

async function until(isThere: () => Promise<boolean>): Promise<void> {
  const endMs = performance.now() + ROUND_MS_MAX
  while (!(await isThere())) {
    if (performance.now() > endMs) throw new Error('a round takes too long')
    await pause(POLL_MS)
  }
}

/** Seconds until every invoice is paid, with its ledger entries and events, and the whole chain has been read. */
async function ours(shop: WatchedChain<DrivenAnvil>): Promise<number> {
  const tip = await chain.anvil.height()
  const before = performance.now()
  shop.watch()
  await until(async () => {
    if ((await shop.state()).height !== tip) return false
    const { rowCount } = await shop.database.owner.query(`select from invoice where status <> 'paid' limit 1`)
    return rowCount === 0
  })
  const seconds = (performance.now() - before) / 1_000
  await shop.stopWatchers()
  return seconds
}

/** Seconds from ponder's first answer until it has indexed all; its start, some seconds, is left out. */
async function ponder(isCoinToo: boolean): Promise<number> {
  const database = await createTestDatabase()
  const port = await freePort()
  const environment = {
    DATABASE_URL: database.ownerUrl,
    RPC_URL: chain.url,
    CHAIN_ID: String(Number(await chain.anvil.rpc<string>('eth_chainId'))),
    TOKEN: chain.token.contract,
    START_BLOCK: String(start + 1),
    END_BLOCK: String(start + BLOCKS),
    ADDRESSES_FILE: join(folder, 'addresses'),
    COIN: isCoinToo ? '1' : '0',
    PONDER_TELEMETRY_DISABLED: '1',
  }
  const options = ['--schema', 'bench', '--port', String(port), '--log-level', 'error']
  const child = spawn(process.execPath, ['node_modules/ponder/dist/esm/bin/ponder.js', 'start', ...options], {
    cwd: PONDER,
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  const answers = (path: string) => () =>
    fetch(`http://127.0.0.1:${port}${path}`).then(
      ({ status }) => status === 200,
      () => false,
    )
  try {
    await until(answers('/health'))
    const before = performance.now()
    await until(answers('/ready'))
    const seconds = (performance.now() - before) / 1_000
    const { rows } = await database.owner.query('select count(*)::int as count from bench.payment')
    expect(rows).toEqual([{ count: addresses.length }])
    return seconds
  } finally {
    const ended = once(child, 'exit')
    child.kill('SIGTERM')
    await ended
    await database.drop()
  }
}

test('catching up with the payments of a shop against ponder, which only makes a row of each', async () => {
  const rounds: { ours: number; tokens: number; all: number }[] = []
  for (const shop of shops) {
    const seconds = { ours: await ours(shop), tokens: await ponder(false), all: await ponder(true) }
    rounds.push({ ours: BLOCKS / seconds.ours, tokens: BLOCKS / seconds.tokens, all: BLOCKS / seconds.all })
  }
  const rate = (of: 'ours' | 'tokens' | 'all') => median(rounds.map((round) => round[of])).toFixed(0)
  const figure = (name: string, of: 'tokens' | 'all', target: string) => {
    const ratios = rounds.map((round) => round.ours / round[of])
    printFigure({
      name: `Catching up over ${BLOCKS} blocks of ${TRANSFERS_PER_BLOCK} USDC transfers, ${addresses.length} of them payments, coin looked for as well ÷ ponder 0.16 ${name}`,
      target,
      measured: median(ratios).toFixed(2),
      detail: `${spread(ratios)}; ${rate('ours')} blocks/s against ${rate(of)}`,
    })
  }
  figure('looking for both too', 'all', '≥2')
  figure('looking for USDC alone', 'tokens', '≥1.5')
})
