// @module-tag litecoind
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { loadConfig } from '../../src/config/config.ts'
import { inspectLive } from '../../src/doctor/inspect-live.ts'
import { EXCHANGE_NAMES, type ExchangeName } from '../../src/rates/exchanges.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { type FakeExchange, startFakeExchange } from '../rates/fake-exchange.ts'
import { coinbaseRates, ecbRates, type FakeRates, startFakeRates } from '../rates/fake-rates.ts'
import { runProgram } from '../support/app.ts'
import { startEsploraServer } from '../support/esplora-server.ts'
import { type DrivenAnvil, evmDriver } from '../support/evm-driver.ts'
import {
  COINBASE_KEY_ID,
  coinbaseKey,
  MOONPAY_KEYS,
  startFakeCoinbase,
  startFakeMoonpay,
} from '../support/fake-onramps.ts'
import { startNode, type TestNode } from '../support/litecoind.ts'
import { startRpcProxy } from '../support/rpc-proxy.ts'
import { type DrivenSolana, solanaDriver } from '../support/solana-driver.ts'
import { type Outside, startOutside } from './outside.ts'

/** `paylink doctor --live` against services on loopback, and what it lets out of the settings. */

const DAY_MS = 86_400_000
const BACKUP_SUFFIX = '-0a1b2c3d.tar.gz.age'
const key = coinbaseKey('ed25519')
const closing: (() => unknown)[] = []
let exchanges: { [name in ExchangeName]: FakeExchange }
let rates: FakeRates
let node: TestNode
let copy: TestNode
let anvil: DrivenAnvil
let solana: DrivenSolana
let esploraUrl: string
let backups: string
let outside: Outside

beforeAll(async () => {
  const [coinbase, kraken, bitstamp] = await Promise.all(
    EXCHANGE_NAMES.map((name) => startFakeExchange(name, () => Date.now())),
  )
  if (coinbase === undefined || kraken === undefined || bitstamp === undefined) throw new Error('no fakes')
  exchanges = { coinbase, kraken, bitstamp }
  const today = new Date().toISOString().slice(0, 10)
  rates = await startFakeRates({ coinbase: coinbaseRates(), ecb: ecbRates(today) })
  node = await startNode('litecoin')
  await node.mine(10)
  copy = await node.copy()
  const esplora = await startEsploraServer(node)
  esploraUrl = esplora.url
  anvil = await evmDriver('USDC_BASE').start()
  await anvil.anvil.mine(5)
  solana = await solanaDriver('accounts').start()
  backups = await mkdtemp(join(tmpdir(), 'paylink-live-'))
  outside = await startOutside()
  closing.push(
    ...Object.values(exchanges).map((each) => () => each.close()),
    () => rates.close(),
    () => copy.remove(),
    () => esplora.stop(),
    () => node.remove(),
    () => anvil.remove(),
    () => solana.remove(),
    () => rm(backups, { recursive: true }),
    () => outside.close(),
  )
})
afterAll(async () => {
  for (const close of closing) await close()
})

/** A mail server without encryption, which takes one password or any. */
async function startMailServer(password: string): Promise<Server & { url: string }> {
  const accepted = Buffer.from(`\0shop\0${password}`).toString('base64')
  const serve = (socket: Socket) => {
    socket.on('error', () => {})
    socket.on('data', (chunk) => {
      const line = chunk.toString().trim()
      if (line.startsWith('EHLO')) socket.write('250-mail\r\n250 AUTH PLAIN\r\n')
      else if (line.startsWith('AUTH')) {
        const isRight = line.endsWith(accepted)
        socket.write(isRight ? '235 ok\r\n' : `535 no such password: ${line} of owner@shop.example\r\n`)
      } else if (line.startsWith('QUIT')) socket.end('221 bye\r\n')
      else socket.write('502 not here\r\n')
    })
    socket.write('220 mail\r\n')
  }
  const server = createServer(serve)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closing.push(() => server.close())
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return Object.assign(server, { url: `127.0.0.1:${address.port}` })
}

const priceUrls = () => ({
  ...Object.fromEntries(
    EXCHANGE_NAMES.map((name) => [`PRICE_${name.toUpperCase()}_URL`, exchanges[name].url]),
  ),
  CURRENCY_COINBASE_URL: rates.url,
  CURRENCY_ECB_URL: rates.url,
})

async function find(settings: { readonly [name: string]: string }): Promise<string[]> {
  const config = loadConfig({ ...priceUrls(), WEBHOOK_ALLOW_PRIVATE: '1', ...settings })
  return (await inspectLive(config, systemClock)).map(({ kind, text }) => `${kind}: ${text}`)
}

const backupAt = (ms: number) =>
  `paylink-${new Date(ms).toISOString().replace(/[-:]|\.\d+/g, '')}${BACKUP_SUFFIX}`

test('each service that answers is listed with what it provides', async () => {
  const coinbase = await startFakeCoinbase(key.publicKey)
  const moonpay = await startFakeMoonpay()
  closing.push(
    () => coinbase.close(),
    () => moonpay.close(),
  )
  const mail = await startMailServer('right')
  await writeFile(join(backups, backupAt(Date.now() - DAY_MS)), '')
  await writeFile(join(backups, backupAt(Date.now() - 2 * DAY_MS)), '')
  const lines = await find({
    TEST_LITECOIN_RPC_URL: [node.rpcUrl, copy.rpcUrl].join(','),
    TEST_BASE_RPC_URL: anvil.anvil.url,
    TEST_BASE_USDC_ADDRESS: anvil.token.contract,
    TEST_SOLANA_RPC_URL: solana.url,
    COINBASE_ONRAMP_KEY_ID: COINBASE_KEY_ID,
    COINBASE_ONRAMP_KEY_SECRET: key.secret,
    COINBASE_ONRAMP_URL: coinbase.url,
    COINBASE_ONRAMP_OPTIONS_URL: coinbase.url,
    MOONPAY_API_KEY: MOONPAY_KEYS.apiKey,
    MOONPAY_SECRET_KEY: MOONPAY_KEYS.secretKey,
    MOONPAY_URL: moonpay.url,
    SMTP_URL: `smtp://shop:right@${mail.url}`,
    BACKUP_TO: backups,
    BACKUP_RECIPIENT: `age1${'q'.repeat(58)}`,
  })
  const told = (text: RegExp) => expect.stringMatching(text)
  expect(lines).toEqual([
    told(
      /^ok: Price of BTC: coinbase 97000\.5 \(-?\d+\.\d s old\), kraken 97000\.5 \(reports no time\), bitstamp 97000\.5 \(-?\d+\.\d s old\); apart by 0\.00 %$/,
    ),
    told(/^ok: Price of LTC: /),
    told(/^ok: Price of ETH: /),
    told(/^ok: Price of USDC: kraken .*, bitstamp /),
    told(/^ok: Price of SOL: /),
    told(/^ok: Price of USDT: /),
    told(/^ok: Price of POL: /),
    told(/^ok: Price of PYUSD: coinbase .*, kraken /),
    told(/^ok: Currencies for prices: 29 of 29$/),
    told(/^ok: litecoin-test: \S+: chain regtest \([0-9a-f]{64}\), block \d+, -?\d+ s old$/),
    told(/^ok: litecoin-test: \S+: serves blocks, mempool$/),
    told(/^ok: litecoin-test: \S+: chain regtest /),
    told(/^ok: litecoin-test: \S+: serves blocks, mempool$/),
    told(/^ok: litecoin-test: 2 providers agree on block \d+$/),
    told(/^ok: base-test: \S+: chain \S+ .*block \d+, -?\d+ s old$/),
    told(
      /^ok: base-test: \S+: serves blocks with traces, a fresh tip, token logs, receipts, safe and finalized blocks$/,
    ),
    told(/^ok: solana-test: \S+: chain .*block \d+, -?\d+ s old$/),
    told(
      /^ok: solana-test: \S+: serves balances, a fresh tip, safe and finalized blocks, signatures of an address, whole blocks$/,
    ),
    told(/^notice: Cards by Coinbase: answers; without its webhook key/),
    told(/^notice: Cards by MoonPay: answers; without its webhook key/),
    `notice: Email: ${mail.url} answers and takes the password, but does not encrypt: use smtps:`,
    `ok: Backups: the last good one is 24.0 hours old (${backups} lists 2)`,
    told(/^ok: Clock: \d\.\d s (ahead|behind) \(servers that answered: 5\)$/),
    told(/^ok: Webhooks: connections get out \(tried with 127\.0\.0\.1:\d+\)$/),
  ])
})

test('an Esplora server is asked for its blocks and its mempool', async () => {
  const lines = await find({ TEST_LITECOIN_RPC_URL: esploraUrl })
  expect(lines).toContainEqual(
    expect.stringMatching(/^ok: litecoin-test: Esplora \S+: serves blocks, mempool$/),
  )
})

test('providers on different chains, a node that lacks a call and a wrong clock are faults', async () => {
  const fork = await startNode('litecoin')
  closing.push(() => fork.remove())
  await fork.mine(10)
  expect(await find({ TEST_LITECOIN_RPC_URL: [node.rpcUrl, fork.rpcUrl].join(',') })).toContainEqual(
    expect.stringMatching(/^fault: litecoin-test: .+ and .+ have different blocks at height \d+: find out/),
  )
  const proxy = await startRpcProxy(anvil.anvil.url)
  closing.push(() => proxy.close())
  proxy.lie('eth_getBlockReceipts', () => {
    throw new Error('not for you')
  })
  const settings = { TEST_BASE_RPC_URL: proxy.url, TEST_BASE_USDC_ADDRESS: anvil.token.contract }
  expect(await find(settings)).toContainEqual(
    expect.stringMatching(
      /^fault: base-test: \S+: receipts: the node at \S+ answered eth_getBlockReceipts with: /,
    ),
  )
  const config = loadConfig(priceUrls())
  const late = () => new Date(Date.now() - 3_600_000)
  const told = (await inspectLive(config, late)).map(({ kind, text }) => `${kind}: ${text}`)
  expect(told).toContainEqual(
    expect.stringMatching(/^fault: Clock: 3\d{3}\.\d s behind \(servers that answered: 3\): set it by NTP/),
  )
  expect(told).toContainEqual(expect.stringMatching(/^fault: Price of BTC: .*invoices in it are refused/))
  expect(told).toContainEqual(expect.stringMatching(/^fault: Webhooks: no connection gets out/))
})

test('no secret of any setting is in the report, however a provider repeats it', async () => {
  const mail = await startMailServer('another')
  const plant = (name: string) => `Planted-${name}-7f3e`
  // It repeats all that it is told, as some providers do.
  outside.give(({ path, body }) => ({
    status: 400,
    body: {
      jsonrpc: '2.0',
      id: 1,
      error: {
        code: -32000,
        message: `no such key: ${path} ${decodeURIComponent(path)} ${body.slice(0, 50)}`,
      },
      errorType: `no such key ${path}`,
      type: `no such key ${path}`,
    },
  }))
  const { host } = outside
  const url = (name: string) =>
    `http://${plant(`${name}-user`)}:${plant(`${name}%2Fpassword`)}@${host}/v2/${plant(`${name}-path`)}?key=${plant(`${name}-query`)}`
  const settings: { readonly [name: string]: string } = {
    DATABASE_URL: `postgresql://${plant('user')}:${plant('database')}@127.0.0.1:9/paylink`,
    SECRET_KEY: '7e'.repeat(32),
    LIVE_BITCOIN_RPC_URL: `${url('bitcoin')},esplora+${url('esplora')}`,
    LIVE_LITECOIN_RPC_URL: url('litecoin'),
    LIVE_ETHEREUM_RPC_URL: url('ethereum'),
    LIVE_BASE_RPC_URL: `${url('base')},${url('second')}`,
    LIVE_SOLANA_RPC_URL: url('solana'),
    PRICE_COINBASE_URL: `http://${host}/${plant('price')}`,
    COINBASE_ONRAMP_KEY_ID: plant('key-id'),
    COINBASE_ONRAMP_KEY_SECRET: key.secret,
    COINBASE_ONRAMP_WEBHOOK_SECRET: plant('coinbase-hook'),
    COINBASE_ONRAMP_URL: outside.url,
    COINBASE_ONRAMP_OPTIONS_URL: outside.url,
    MOONPAY_API_KEY: 'pk_live_Planted7f3e',
    MOONPAY_SECRET_KEY: 'sk_live_Planted7f3e',
    MOONPAY_WEBHOOK_KEY: plant('moonpay-hook'),
    MOONPAY_URL: outside.url,
    SMTP_URL: `smtp://${plant('mail-user')}%40shop.example:${plant('mail')}@${mail.url}`,
    BACKUP_TO: `s3://bucket/${plant('prefix')}`,
    BACKUP_RECIPIENT: `age1${'q'.repeat(58)}`,
    BACKUP_S3_ENDPOINT: outside.url,
    BACKUP_S3_ACCESS_KEY_ID: plant('s3-id'),
    BACKUP_S3_SECRET_ACCESS_KEY: plant('s3-secret'),
  }
  const { code, stdout, stderr } = await runProgram(['doctor', '--live'], settings)
  expect(code).toBe(1)
  expect(stdout).toMatch(/^Paylink \S+, Node\.js v\S+, \S+ \S+, \d{4}-\d\d-\d\dT\S+Z\n/)
  expect(stdout).toMatch(/faults to fix\.\n$/)
  for (const about of ['bitcoin-live', 'base-live', 'solana-live', 'Cards by MoonPay', 'Email', 'Backups'])
    expect(stdout).toContain(`✗ ${about}`)
  expect(stdout).toContain(host)
  const report = stdout + stderr
  expect(report).not.toMatch(/planted/i)
  expect(report).not.toContain('shop.example')
  const words = report.match(/[\w+/-]{12,}={0,2}/g) ?? []
  expect(words.filter((word) => /planted/i.test(Buffer.from(word, 'base64').toString('latin1')))).toEqual([])
  const all = Object.values(settings).flatMap((value) => [value, Buffer.from(value).toString('base64')])
  expect(all.filter((value) => value.length > 8 && value !== outside.url && report.includes(value))).toEqual(
    [],
  )
})
