import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { parseEnv } from 'node:util'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { startAnvil } from '../support/anvil.ts'
import { makeDataDir, runProgram, startProgram } from '../support/app.ts'
import { tokenCode } from '../support/evm-payout-world.ts'
import { freePort } from '../support/free-port.ts'
import { payLink } from '../support/pay-link.ts'
import { until } from '../support/until.ts'
import { KEYS, startInTerminal, type Terminal } from './terminal.ts'

/** `paylink setup`: the built program, from nothing to a paid link. */

const LINK_MS_MAX = 120_000
const LINK = /http:\/\/localhost:\d+\/l\/pl_\w+/
const SHOP = ['--name', 'Tea Shop', '--email', 'tea@shop.example'] as const
/** The issuers' contracts on Ethereum, which a live network is looked at for: USDC and USDT. */
const TOKENS = ['0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48', '0xdac17f958d2ee523a2206206994597c13d831ec7']
const PASSWORD = 'correct-horse'

let place: Awaited<ReturnType<typeof makeDataDir>>
let env: { [name: string]: string }
let path: string
beforeEach(async () => {
  place = await makeDataDir()
  path = join(dirname(place.dataDir), 'paylink.env')
  env = {
    PAYLINK_ENV_FILE: path,
    DATA_DIR: place.dataDir,
    PORT: String(await freePort()),
    OPERATOR_PORT: String(await freePort()),
  }
})
afterEach(() => place.remove())

const setUp = (...args: readonly string[]) => runProgram(['setup', ...args], env)
const settings = async () => parseEnv(await readFile(path, 'utf8'))

test('by options alone: one env file, doctor, and a link that is followed to paid', async () => {
  const options = [
    '--coins',
    'LTC,BTC',
    '--smtp-url',
    `smtp://me:${PASSWORD}@mail.example`,
    '--sign-up',
    'invite',
  ]
  const running = startProgram(['setup', '--yes', ...SHOP, ...options], env)
  const isShown = () => running.stdout().includes('Waiting for the payment')
  await until(isShown, { what: 'the link is shown', timeoutMs: LINK_MS_MAX })
  expect(running.stdout()).toContain('✓ Signer: 6 account keys are published, and it is at work')
  expect(running.stdout()).toMatch(/█▀|▄█/)
  await payLink(LINK.exec(running.stdout())?.[0] ?? '')
  expect(await running.exited()).toBe(0)
  expect(running.stdout()).toMatch(/✓ \d\d:\d\d:\d\d paid: [\d.]+ LTC\nPaylink is stopped again/)
  expect(running.stdout() + running.stderr()).not.toContain(PASSWORD)
  expect((await stat(path)).mode & 0o777).toBe(0o600)
  expect(await settings()).toEqual({
    BASE_URL: `http://localhost:${env.PORT}`,
    PORT: env.PORT,
    SIGN_UP: 'invite',
    DATA_DIR: place.dataDir,
    SMTP_URL: `smtp://me:${PASSWORD}@mail.example`,
  })
  const text = await readFile(path, 'utf8')
  expect(text).toContain('# LIVE_BITCOIN_RPC_URL=')

  // Once more: the shop is the same one, and settings that setup does not ask about stay.
  await writeFile(path, `${text}RATE_LIMIT_TEST=50\n`)
  const refused = await setUp('--yes', ...SHOP)
  expect([refused.code, refused.stderr]).toEqual([
    2,
    expect.stringMatching(/is there already: add --force to/),
  ])
  const again = await setUp('--yes', '--force', '--no-test-payment', ...SHOP)
  expect([again.code, again.stderr]).toEqual([0, ''])
  const shopOf = (printed: string) => /^Shop Tea Shop is (mer_\w+)\.$/m.exec(printed)?.[1]
  expect(shopOf(again.stdout)).toBe(shopOf(running.stdout()))
  expect(await settings()).toMatchObject({ SIGN_UP: 'invite', RATE_LIMIT_TEST: '50' })
  // Whoever lost the link of the first run, or was cut off after it, gets another.
  const linksOf = (printed: string) => /chooses a password here.*token=(\w+)/.exec(printed)?.[1]
  expect(linksOf(again.stdout)).not.toBe(linksOf(running.stdout()))
  expect(linksOf(again.stdout)).toMatch(/^\w{43}$/)
  const keys = await runProgram(['key', 'list', '--merchant', shopOf(again.stdout) ?? '', '--json'], env)
  expect(JSON.parse(keys.stdout).keys).toEqual([expect.objectContaining({ revoked_at: expect.any(String) })])
})

test('at a terminal: questions, words that are asked back, and a link that is followed to paid', {
  tags: ['script'],
}, async () => {
  const terminal = startInTerminal(['setup'], env)
  await terminal.answer('The name of your shop', 'Tea Shop')
  await terminal.answer("The owner's email address", 'nobody')
  await terminal.shows('must be an email address')
  await terminal.answer("The owner's email address", 'tea@shop.example')
  await terminal.answer('Which money?', '')
  await terminal.answer('Which coins', '')
  await terminal.answer('The address that buyers open', '')
  await terminal.shows('Where does the seed come from')
  // The default is the last of three.
  terminal.type(`${KEYS.down}${KEYS.enter}`)
  await terminal.shows('Written down?')
  const words = wordsOn(terminal)
  expect(words).toHaveLength(24)
  terminal.type(KEYS.enter)
  await terminal.answer('of your paper', 'paylink')
  await terminal.shows('That is another word')
  await terminal.answer('Written down?', '')
  for (let asked = 0; asked < 3; asked++) await giveBack(terminal, words)
  expect(existsSync(place.dataDir)).toBe(false)
  await terminal.answer('Mail server', '')
  await terminal.answer('Who may create an account', '')
  await terminal.answer('Where do backups go?', '')
  await terminal.answer(`Write ${path}?`, '')
  await terminal.shows('Pay one dollar of test money')
  await terminal.shows('Waiting for the payment')
  await payLink(LINK.exec(terminal.screen())?.[0] ?? '')
  await terminal.shows(' paid: ')
  expect(await terminal.exited()).toBe(0)
  expect((await settings()).BASE_URL).toBe(`http://localhost:${env.PORT}`)
  // The words stood on the second screen only, and they are the seed's.
  const afterwards = terminal
    .raw()
    .split('\u001b[?1049l')
    .map((part) => part.split('\u001b[?1049h')[0])
    .join('')
  expect(afterwards).not.toContain(words.slice(0, 2).join(' '))
  await expect(stat(join(place.dataDir, 'signer', 'seed.json'))).resolves.toBeDefined()
})

/** Of the table that is shown, in its order: rows from left to right. */
const wordsOn = (terminal: Terminal): string[] => {
  const table = terminal.screen().split('in this order.').at(-1)?.split('Written down?')[0] ?? ''
  return [...table.matchAll(/\d (?<word>[a-z]{3,8})\b/g)].map(({ groups }) => groups?.word ?? '')
}

/** Answers the word that is asked for now. */
async function giveBack(terminal: Terminal, words: readonly string[]): Promise<void> {
  await terminal.shows('◆  Word ')
  await terminal.shows(' of your paper')
  const number = Number([...terminal.screen().matchAll(/◆ {2}Word (\d+) of your paper/g)].at(-1)?.[1])
  terminal.type(`${words[number - 1]}${KEYS.enter}`)
}

test('Ctrl-C at a question leaves no file and no folder', { tags: ['script'] }, async () => {
  const terminal = startInTerminal(['setup'], env)
  await terminal.answer('The name of your shop', 'Tea Shop')
  await terminal.shows("The owner's email address")
  terminal.type(KEYS.interrupt)
  await terminal.shows('cancelled: nothing was written')
  expect(await terminal.exited()).toBe(1)
  expect([existsSync(path), existsSync(place.dataDir)]).toEqual([false, false])
})

test('what a script leaves out or gets wrong is one line that names the option, and writes nothing', async () => {
  const wrong: [string[], RegExp][] = [
    [[], /^paylink: --name is missing: .+\n$/],
    [['--name', 'Tea Shop'], /^paylink: --email is missing: .+\n$/],
    [[...SHOP, '--base-url', 'pay.example.com'], /^paylink: --base-url: BASE_URL must be an origin .+\n$/],
    [[...SHOP, '--port', '1'], /^paylink: --port differs from PORT of the environment.+\n$/],
    [[...SHOP, '--coins', 'LTC,DOGE'], /^paylink: --coins: use some of BTC, .+\n$/],
    [[...SHOP, '--mode', 'live'], /^paylink: --coins is missing: .+\n$/],
    [
      [...SHOP, '--mode', 'test', '--live-base-rpc-url', 'http://127.0.0.1:9'],
      /^paylink: --mode test, and LIVE_BASE_RPC_URL is given: remove one\n$/,
    ],
    [[...SHOP, '--sign-up', 'anyone'], /^paylink: --sign-up: use one of open, invite, closed\n$/],
    [[...SHOP, '--backup-to', '/mnt/backups'], /^paylink: --backup-key-file is missing: .+\n$/],
    [
      [...SHOP, '--mode', 'live', '--base-url', 'https://pay.example.com', '--coins', 'LTC'],
      /^paylink: --live-litecoin-rpc-url is missing: .+\n$/,
    ],
  ]
  for (const [options, line] of wrong) {
    const { code, stdout, stderr } = await setUp('--yes', ...options)
    expect([code, stdout, stderr]).toEqual([2, '', expect.stringMatching(line)])
  }
  expect([existsSync(path), existsSync(place.dataDir)]).toEqual([false, false])
})

test('a node of another network, a live chain for test money and two of one operator are refused', async () => {
  const mainnet = await startAnvil({ chainId: 1 })
  const url = mainnet.url.replace('//', `//me:${PASSWORD}@`)
  try {
    const wrong: [string[], RegExp][] = [
      [
        live('LTC', '--live-litecoin-rpc-url', 'public'),
        /--live-litecoin-rpc-url: no public providers of litecoin-live are known: name two/,
      ],
      [['--test-base-rpc-url', 'public'], /--test-base-rpc-url: no public providers of base-test are known/],
      [['--test-ethereum-rpc-url', url], /--test-ethereum-rpc-url: .*chain 1\b/],
      [
        live('USDC_BASE', '--live-base-rpc-url', url),
        /--live-base-rpc-url: .*chain 1, and base-live is chain 8453/,
      ],
      [
        live('SOL', '--live-solana-rpc-url', 'http://127.0.0.1:9'),
        /--live-solana-rpc-url: .*refuses the connection/,
      ],
      [
        live('ETH', '--live-ethereum-rpc-url', 'ftp://node'),
        /--live-ethereum-rpc-url: .*must be an http or https URL/,
      ],
      [
        live('ETH', '--live-ethereum-rpc-url', 'https://a.node.example,https://b.node.example'),
        /--live-ethereum-rpc-url: two of these are of one operator/,
      ],
    ]
    for (const [options, line] of wrong) {
      const { code, stdout, stderr } = await setUp('--yes', ...SHOP, ...options)
      expect([code, stdout, stderr]).toEqual([2, '', expect.stringMatching(line)])
      expect(stderr).not.toContain(PASSWORD)
    }
  } finally {
    await mainnet.remove()
  }
  expect([existsSync(path), existsSync(place.dataDir)]).toEqual([false, false])
})

const live = (coin: string, option: string, url: string): string[] => [
  ...['--mode', 'live', '--base-url', 'https://pay.example.com', '--coins', coin],
  ...[option, url],
]

test('live by options: the seed is sealed with the key of another disk, and backups with a new pair', async () => {
  const mainnet = await startAnvil({ chainId: 1 })
  const token = await mainnet.deploy(tokenCode(`0x${'11'.repeat(20)}`))
  const code = await mainnet.rpc('eth_getCode', [token, 'latest'])
  for (const contract of TOKENS) await mainnet.rpc('anvil_setCode', [contract, code])
  const disk = join(dirname(place.dataDir), 'disk')
  await mkdir(disk)
  await writeFile(join(disk, 'key'), '5c'.repeat(32))
  try {
    const { code, stdout, stderr } = await setUp(
      ...['--yes', '--no-test-payment', ...SHOP, ...live('ETH', '--live-ethereum-rpc-url', mainnet.url)],
      ...['--seed', 'new', '--signer-key-file', join(disk, 'key')],
      ...['--backup-to', join(disk, 'backups'), '--backup-key-file', join(disk, 'backup-key')],
    )
    // No exchange can be asked here, which doctor calls a fault.
    expect(code, stderr).toBe(1)
    expect(stdout).toContain('ethereum-live: the node at')
    expect(stdout).toContain(`the key that opens it is ${join(disk, 'key')}`)
    expect(stdout).not.toMatch(/(?:\b[a-z]{3,8} ){23}/)
    const written = await settings()
    expect(written).toMatchObject({ SIGN_UP: 'closed', LIVE_ETHEREUM_RPC_URL: mainnet.url })
    expect(await readdir(join(disk, 'backups'))).toContainEqual(expect.stringMatching(/\.tar\.gz\.age$/))
    expect(stdout).not.toContain('✗ Backups')
    const pair = await readFile(join(disk, 'backup-key'), 'utf8')
    expect(pair).toContain(`# public key: ${written.BACKUP_RECIPIENT}\n`)
    expect((await stat(join(disk, 'backup-key'))).mode & 0o777).toBe(0o600)
  } finally {
    await mainnet.remove()
  }
})
