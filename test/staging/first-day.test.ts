import { readdir, readFile, rename } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { parseEnv } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parseCoinAmount } from '../../src/core/money.ts'
import { EXCHANGE_NAMES } from '../../src/rates/exchanges.ts'
import { type FakeExchange, startFakeExchange } from '../rates/fake-exchange.ts'
import { type Anvil, startAnvil } from '../support/anvil.ts'
import { makeDataDir, runProgram, startProgram } from '../support/app.ts'
import { freePort } from '../support/free-port.ts'
import { openLink } from '../support/pay-link.ts'
import { until } from '../support/until.ts'

/** `paylink setup` with live money's rules on a private chain: a first payment, a backup, and the shop that it restores. */

const CHAIN_ID = 41_339
const WAIT = { timeoutMs: 120_000, intervalMs: 500 }
const LINK = /http:\/\/localhost:\d+\/l\/pl_\w+/

let place: Awaited<ReturnType<typeof makeDataDir>>
let anvil: Anvil
let exchanges: FakeExchange[] = []
let shared: { [name: string]: string }
beforeAll(async () => {
  place = await makeDataDir()
  anvil = await startAnvil({ chainId: CHAIN_ID })
  exchanges = await Promise.all(EXCHANGE_NAMES.map((name) => startFakeExchange(name, Date.now)))
  const [coinbase = '', kraken = '', bitstamp = ''] = exchanges.map(({ url }) => url)
  shared = {
    PAYLINK_ENV_FILE: join(dirname(place.dataDir), 'paylink.env'),
    PRICE_COINBASE_URL: coinbase,
    PRICE_KRAKEN_URL: kraken,
    PRICE_BITSTAMP_URL: bitstamp,
  }
})
afterAll(async () => {
  await Promise.all(exchanges.map((one) => one.close()))
  await anvil.remove()
  await place.remove()
})

test('setup, a paid link, a backup, and a restore that its audit passes', { timeout: 400_000 }, async () => {
  const folder = dirname(place.dataDir)
  const port = String(await freePort())
  const { hash } = await anvil.rpc<{ hash: string }>('eth_getBlockByNumber', ['0x0', false])
  const privateChain = {
    STAGING: '1',
    LIVE_ETHEREUM_GENESIS: hash,
    LIVE_ETHEREUM_CHAIN_ID: String(CHAIN_ID),
  }
  const options = [
    ...['--name', 'Tea Shop', '--email', 'tea@shop.example', '--mode', 'live', '--coins', 'ETH'],
    ...['--base-url', `http://localhost:${port}`, '--port', port, '--data-dir', place.dataDir],
    ...['--live-ethereum-rpc-url', anvil.url, '--seed', 'new'],
    ...['--backup-to', join(folder, 'backups'), '--backup-key-file', join(folder, 'backup-key')],
  ]
  const setup = startProgram(['setup', '--yes', ...options], { ...shared, ...privateChain })
  const end = setup.exited()
  await until(() => setup.stdout().includes('Waiting for the payment'), {
    ...WAIT,
    what: 'the link is shown',
  })
  expect(setup.stdout()).toContain('from a wallet of your private chain')
  expect(setup.stdout()).not.toContain('✗')
  const checkout = await openLink(LINK.exec(setup.stdout())?.[0] ?? '', 'ETH')
  const page = await (await fetch(checkout)).text()
  const value = parseCoinAmount(/data-copy="([\d.]+)"/.exec(page)?.[1] ?? '', 18)
  const [to = ''] = /0x[0-9a-fA-F]{40}(?=")/.exec(page) ?? []
  await anvil.send({ to, value: value ?? 0n })
  await until(
    async () => {
      await anvil.mine(1)
      return setup.stdout().includes('Paylink is stopped again')
    },
    { ...WAIT, what: 'the payment is final' },
  )
  expect(await end, setup.stdout() + setup.stderr()).toBe(0)
  expect(setup.stdout()).toMatch(/✓ \d\d:\d\d:\d\d paid: [\d.]+ ETH/)
  const written = parseEnv(await readFile(shared.PAYLINK_ENV_FILE ?? '', 'utf8'))
  expect(written).toMatchObject({ ...privateChain, LIVE_ETHEREUM_RPC_URL: anvil.url })

  // The file alone is enough for everything that comes after.
  const backup = await runProgram(['backup'], shared)
  expect(backup.code, backup.stderr).toBe(0)
  expect(await readdir(join(folder, 'backups'))).toHaveLength(2)
  await rename(place.dataDir, `${place.dataDir}-lost`)
  const restored = await runProgram(['restore', 'latest', '--key-file', join(folder, 'backup-key')], shared)
  expect(restored.code, restored.stdout + restored.stderr).toBe(0)
  const audit = await runProgram(['audit'], shared)
  expect([audit.code, audit.stdout]).toEqual([0, expect.not.stringContaining('✗')])
})
