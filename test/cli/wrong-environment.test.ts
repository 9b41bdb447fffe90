import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { loadConfig } from '../../src/config/config.ts'
import { ConfigError } from '../../src/config/config-values.ts'
import { withoutSecrets } from '../../src/runtime/log.ts'
import { runProgram } from '../support/app.ts'
import { freePort } from '../support/free-port.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'paylink-env-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

/** Staging on Base, without its chain id. */
const ON_BASE = {
  STAGING: '1',
  LIVE_BASE_RPC_URL: 'http://127.0.0.1:1',
  LIVE_BASE_GENESIS: `0x${'ab'.repeat(32)}`,
}

const WRONG: readonly [variable: string, value: string, others?: { [name: string]: string }][] = [
  ['DATABASE_URL', 'mysql://localhost/paylink'],
  ['DATABASE_URL', 'postgresql://localhost'],
  ['DATABASE_URL', 'not a url'],
  ['API_DATABASE_URL', 'localhost:5432'],
  ['WATCHER_DATABASE_URL', 'http://localhost/x'],
  ['DELIVERY_DATABASE_URL', 'x'],
  ['SIGNER_DATABASE_URL', '//'],
  ['HOST', 'two words'],
  ['PORT', '0'],
  ['PORT', '65536'],
  ['PORT', '3000x'],
  ['PORT', '-1'],
  ['PORT', '3e3'],
  ['OPERATOR_PORT', '70000'],
  ['OPERATOR_HOST', 'http://0.0.0.0'],
  ['OPERATOR_PORT', '3000', { PORT: '3000' }],
  ['BASE_URL', 'shop.example.org'],
  ['BASE_URL', 'https://pay.example.com/shop'],
  ['BASE_URL', 'https://user:password@pay.example.com'],
  ['BASE_URL', 'ftp://pay.example.com'],
  ['BASE_URL', 'javascript:alert(1)'],
  ['LOG_LEVEL', 'loud'],
  ['SANDBOX_HOST', 'http://sandbox'],
  ['READER_HOST', 'http://0.0.0.0'],
  ['READER_PORT', '0'],
  ['READER_TOKEN', 'short'],
  ['READER_TOKEN', 'sixteen letters, with spaces'],
  ['READER_CACHE_MB', '0'],
  ['SECRET_KEY', 'short'],
  ['DELIVERY_KEY', 'a'.repeat(64)],
  ['WATCHER_KEY', 'a'.repeat(128)],
  ['SECRET_KEY', 'g'.repeat(64)],
  ['SECRET_KEY', randomBytes(33).toString('base64')],
  ['TEST_BASE_USDC_ADDRESS', '0x123'],
  ['TEST_ETHEREUM_USDC_ADDRESS', '123'],
  ['TEST_ETHEREUM_USDT_ADDRESS', '123'],
  // It is no token of Base.
  ['TEST_BASE_USDT_ADDRESS', `0x${'12'.repeat(20)}`],
  ['PRICE_SOURCES', 'coinbase,binance'],
  ['PRICE_SOURCES', 'kraken,kraken'],
  ['PRICE_COINBASE_URL', 'file:///etc/passwd'],
  ['PRICE_KRAKEN_URL', 'x'],
  ['PRICE_BITSTAMP_URL', 'tcp://1.2.3.4'],
  ['CURRENCY_COINBASE_URL', 'x'],
  ['CURRENCY_ECB_URL', 'file:///etc/passwd'],
  ['WEBHOOK_ALLOW_PRIVATE', 'yes'],
  ['X402', 'yes'],
  ['COINBASE_ONRAMP_KEY_ID', 'organizations/1/apiKeys/2'],
  ['COINBASE_ONRAMP_KEY_SECRET', 'short', { COINBASE_ONRAMP_KEY_ID: 'key' }],
  ['COINBASE_ONRAMP_KEY_SECRET', randomBytes(32).toString('base64'), { COINBASE_ONRAMP_KEY_ID: 'key' }],
  ['COINBASE_ONRAMP_URL', 'https://api.example.com/platform'],
  ['MOONPAY_API_KEY', 'pk_test_heron', { MOONPAY_SECRET_KEY: 'sk_live_heron' }],
  ['MOONPAY_SECRET_KEY', 'pk_live_heron', { MOONPAY_API_KEY: 'pk_live_heron' }],
  ['MOONPAY_SECRET_KEY', 'sk_live_heron'],
  ['MOONPAY_WEBHOOK_KEY', 'two words'],
  ['COMPAT_APIS', 'paypal'],
  ['COMPAT_APIS', 'btcpay,btcpay'],
  ['RATE_LIMIT_LIVE', '0'],
  ['RATE_LIMIT_TEST', '1.5'],
  ['RATE_LIMIT_TEST', '1000000'],
  ['TEST_LITECOIN_RPC_URL', 'localhost:19443'],
  ['LIVE_BITCOIN_RPC_URL', 'https://a.example,nonsense'],
  ['LIVE_BITCOIN_RPC_URL', Array(6).fill('https://a.example').join(',')],
  ['LIVE_BITCOIN_RPC_URL', 'https://a.example,https://a.example'],
  ['LIVE_BITCOIN_RPC_URL', 'esplora+ftp://a.example'],
  ['LIVE_BITCOIN_RPC_URL', 'esplora+https:///api'],
  ['LIVE_SOLANA_RPC_URL', 'esplora+https://a.example/api'],
  ['TEST_LITECOIN_ZMQ_URL', 'tcp://127.0.0.1:1', { TEST_LITECOIN_RPC_URL: 'esplora+http://127.0.0.1:1' }],
  ['TEST_DOGECOIN_RPC_URL', 'https://a.example'],
  ['TEST_LITECOIN_ZMQ_URL', 'tcp://127.0.0.1:28332'],
  ['TEST_LITECOIN_ZMQ_URL', 'http://127.0.0.1', { TEST_LITECOIN_RPC_URL: 'http://127.0.0.1:19443' }],
  ['SERVICE_FEE_BPS', '1001'],
  ['SERVICE_FEE_BPS', '1.5'],
  ['LIVE_SOLANA_ZMQ_URL', 'tcp://127.0.0.1:1'],
  ['STAGING', 'yes'],
  ['LIVE_BITCOIN_GENESIS', 'ab'.repeat(32), { LIVE_BITCOIN_RPC_URL: 'http://127.0.0.1:1' }],
  ['LIVE_BITCOIN_GENESIS', '', { STAGING: '1', LIVE_BITCOIN_RPC_URL: 'http://127.0.0.1:1' }],
  ['LIVE_BITCOIN_GENESIS', 'x', { STAGING: '1', LIVE_BITCOIN_RPC_URL: 'http://127.0.0.1:1' }],
  ['TEST_BITCOIN_GENESIS', 'ab'.repeat(32), { STAGING: '1', TEST_BITCOIN_RPC_URL: 'http://127.0.0.1:1' }],
  ['LIVE_DOGECOIN_GENESIS', 'ab'.repeat(32), { STAGING: '1' }],
  ['LIVE_BASE_CHAIN_ID', '', ON_BASE],
  ['LIVE_BASE_CHAIN_ID', '1', ON_BASE],
  ['LIVE_BASE_CHAIN_ID', '84532', ON_BASE],
  ['LIVE_BASE_USDC_ADDRESS', `0x${'12'.repeat(20)}`, { LIVE_BASE_RPC_URL: 'http://127.0.0.1:1' }],
  ['LIVE_SOLANA_USDC_ADDRESS', `0x${'12'.repeat(20)}`, { STAGING: '1' }],
  [
    'MOONPAY_URL',
    '',
    { STAGING: '1', MOONPAY_API_KEY: 'pk_live_heron', MOONPAY_SECRET_KEY: 'sk_live_heron' },
  ],
]

test.each(WRONG)(
  '%s=%s stops the start with one line that names it and repeats no secret',
  (name, value, others) => {
    let message = ''
    try {
      loadConfig({ ...others, [name]: value })
    } catch (error) {
      expect(error).toBeInstanceOf(ConfigError)
      message = error instanceof Error ? error.message : ''
    }
    expect(message).toMatch(new RegExp(`^${name} `))
    expect(message).not.toContain('\n')
    // What is printed is searched for secrets first: an example that looks like one would be blacked out.
    expect(withoutSecrets(message)).toBe(message)
    if (value.length > 8) expect(message).not.toContain(value)
  },
)

test('an empty variable is an absent one', () => {
  const empty = Object.fromEntries(WRONG.map(([name]) => [name, '']))
  expect(loadConfig(empty)).toEqual(loadConfig({}))
})

test('without any variable the sandbox listens on this machine only', () => {
  expect(loadConfig({})).toMatchObject({
    host: '127.0.0.1',
    port: 3000,
    operatorPort: { port: 3001, isGiven: false },
    operatorHost: '127.0.0.1',
    baseUrl: 'http://localhost:3000',
    sandbox: true,
    databaseUrl: null,
    webhookAllowPrivate: false,
    rateLimits: { live: 100, test: 100 },
  })
})

test('figures are off outside the sandbox unless a port is given', () => {
  const live = { LIVE_LITECOIN_RPC_URL: 'http://user:password@node.example:9332' }
  expect(loadConfig(live)).toMatchObject({ sandbox: false, operatorPort: null })
  expect(loadConfig({ ...live, OPERATOR_PORT: '9100' }).operatorPort).toEqual({ port: 9100, isGiven: true })
})

/** Exit code 1 and one line on standard error that names the setting. */
async function expectRefusal(env: { [name: string]: string }, named: RegExp): Promise<void> {
  const { code, stderr } = await runProgram(['start'], env)
  const lines = stderr.split('\n').filter((line) => line.startsWith('paylink: '))
  expect(lines).toHaveLength(1)
  expect(lines[0]).toMatch(named)
  expect(stderr).not.toMatch(/^\s+at /m)
  expect(code).toBe(1)
}

test('the program itself stops with one line on standard error', async () => {
  await expectRefusal({ PORT: 'x' }, /^paylink: PORT must be a port/)
})

test('a data folder that is a file is named', async () => {
  const path = join(folder, 'file')
  await writeFile(path, '')
  await expectRefusal({ DATA_DIR: join(path, 'data') }, /DATA_DIR .* is a file/)
})

test('a database that is not there is named, without its password', async () => {
  const port = await freePort()
  const url = `postgresql://owner:hidden-password@127.0.0.1:${port}/paylink`
  const { stderr } = await runProgram(['start'], { DATABASE_URL: url, DATA_DIR: join(folder, 'nowhere') })
  expect(stderr).toMatch(/^paylink: DATABASE_URL leads to no database/m)
  expect(stderr).not.toContain('hidden-password')
})

test('a port that is taken is named', async () => {
  const port = await freePort()
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  try {
    await expectRefusal(
      { PORT: String(port), DATA_DIR: join(folder, 'taken') },
      new RegExp(`PORT ${port} is taken`),
    )
  } finally {
    server.close()
  }
})

test('a role that does not exist is named, with exit code 2', async () => {
  const { code, stderr } = await runProgram(['start', 'cashier'], {})
  expect(code).toBe(2)
  expect(stderr).toMatch(/^paylink: cashier is no role: use api, /)
})
