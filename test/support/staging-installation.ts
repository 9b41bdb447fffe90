import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'vitest'
import { STAGING_NOTICE } from '../../src/core/staging.ts'
import { EXCHANGE_NAMES } from '../../src/rates/exchanges.ts'
import { startFakeExchange } from '../rates/fake-exchange.ts'
import { BASE_URL } from './api.ts'
import { makeDataDir, runProgram, startRoles } from './app.ts'
import { createTestDatabase, type TestDatabase } from './database.ts'
import { freePort } from './free-port.ts'
import { codeOf, createBrowser, PASSWORD, type TestBrowser } from './people.ts'
import { type StagingChains, startStagingChains } from './staging-chains.ts'
import { until } from './until.ts'

export const MINUTES_MS = 60_000
/** Between two blocks of every chain. From its block 432 on, Litecoin's regtest wants more than payments. */
const BLOCK_MS = 1_000
const LOOK_MS = 200

type Environment = { readonly [name: string]: string }
type Role = Awaited<ReturnType<typeof startRoles>>
/** The processes of production. */
export type ProcessName = 'signer' | 'sandbox' | 'watcher' | 'delivery' | 'site'
/** Somebody at the dashboard, whose second factor is on. */
export type Person = { readonly browser: TestBrowser; readonly email: string; readonly secret: string }

/** A staging installation as an operator has it: private chains, stand-ins of the exchanges, a process for each role. */
export class StagingInstallation {
  readonly chains: StagingChains
  readonly database: TestDatabase
  readonly dataDir: string
  /** Where the site listens; links are on `BASE_URL`. */
  readonly site: string
  readonly #owning: Environment
  readonly #starts: { readonly [name in ProcessName]: () => Promise<Role> }
  readonly #running = new Map<ProcessName, Role>()
  readonly #closing: (() => Promise<void>)[]

  /** With `env`, which every process gets. */
  static async start(env: Environment = {}): Promise<StagingInstallation> {
    const closing: (() => Promise<void>)[] = []
    const opened = async <Thing>(thing: Promise<Thing>, close: (thing: Thing) => Promise<void>) => {
      const one = await thing
      closing.unshift(() => close(one))
      return one
    }
    try {
      const chains = await opened(startStagingChains(), (one) => one.close())
      const database = await opened(createTestDatabase(), (one) => one.drop())
      // The template is one of live money.
      await database.owner.query('delete from installation')
      const { dataDir } = await opened(makeDataDir(), (one) => one.remove())
      const exchanges = await opened(
        Promise.all(EXCHANGE_NAMES.map((name) => startFakeExchange(name, Date.now))),
        async (all) => void (await Promise.all(all.map((one) => one.close()))),
      )
      const [coinbase = '', kraken = '', bitstamp = ''] = exchanges.map(({ url }) => url)
      const port = String(await freePort())
      const shared = {
        ...chains.environment,
        DATA_DIR: dataDir,
        PORT: port,
        BASE_URL,
        SECRET_KEY: 'ab'.repeat(32),
        WEBHOOK_ALLOW_PRIVATE: '1',
        PRICE_COINBASE_URL: coinbase,
        PRICE_KRAKEN_URL: kraken,
        PRICE_BITSTAMP_URL: bitstamp,
        ...env,
      }
      const installation = new StagingInstallation(
        { chains, database, dataDir, site: `http://127.0.0.1:${port}` },
        shared,
        closing,
      )
      await installation.command('migrate')
      const names = ['signer', 'sandbox', 'watcher', 'delivery', 'site'] as const
      await Promise.all(names.map((name) => installation.startProcess(name)))
      return installation
    } catch (error) {
      for (const close of closing) await close()
      throw error
    }
  }

  private constructor(
    parts: Pick<StagingInstallation, 'chains' | 'database' | 'dataDir' | 'site'>,
    shared: Environment,
    closing: (() => Promise<void>)[],
  ) {
    this.chains = parts.chains
    this.database = parts.database
    this.dataDir = parts.dataDir
    this.site = parts.site
    this.#closing = closing
    const { ownerUrl, urls } = parts.database
    this.#owning = { ...shared, DATABASE_URL: ownerUrl }
    this.#starts = {
      signer: () => startRoles(['signer'], { ...shared, SIGNER_DATABASE_URL: urls.signer }),
      sandbox: () => startRoles(['sandbox'], shared),
      watcher: () => startRoles(['watcher'], { ...shared, WATCHER_DATABASE_URL: urls.watcher }),
      delivery: () => startRoles(['delivery'], { ...shared, DELIVERY_DATABASE_URL: urls.delivery }),
      site: () => startRoles(['api', 'checkout'], { ...shared, API_DATABASE_URL: urls.api }),
    }
  }

  async startProcess(name: ProcessName): Promise<void> {
    this.#running.set(name, await this.#starts[name]())
  }

  async stopProcess(name: ProcessName): Promise<void> {
    expect(await this.#running.get(name)?.stop()).toBe(0)
    this.#running.delete(name)
  }

  /** Stops all of it, and writes what each process has logged. */
  async close(): Promise<void> {
    for (const [name, role] of this.#running) {
      await role.stop()
      process.stderr.write(`--- ${name}\n${role.stdout()}${role.stderr()}\n`)
    }
    for (const close of this.#closing) await close()
  }

  /** What the processes have logged as an error or worse. */
  errors(): readonly string[] {
    const lines = [...this.#running.values()].flatMap((role) => role.stderr().split('\n'))
    return lines.filter((line) => /"level":"(error|fatal)"/.test(line))
  }

  /** Runs a command as the owner. */
  run(...args: readonly string[]) {
    return runProgram(args, this.#owning)
  }

  /** Runs a command that has to succeed; what it printed. */
  async command(...args: readonly string[]): Promise<string> {
    const ended = await this.run(...args)
    expect(ended.code, `${args.join(' ')}: ${ended.stdout}${ended.stderr}`).toBe(0)
    return ended.stdout
  }

  /** The addresses that pay for gas on Base and for fees on Solana, as doctor prints them. */
  async feeWallets(): Promise<{ readonly hot: string; readonly feePayer: string }> {
    const { stdout } = await this.run('doctor')
    const [, hot = ''] = /base-live: the hot wallet (0x\w+)/.exec(stdout) ?? []
    const [, feePayer = ''] = /solana-live: the fee payer (\w+)/.exec(stdout) ?? []
    expect([hot, feePayer].includes(''), stdout).toBe(false)
    return { hot, feePayer }
  }

  /** Mines a block of every chain a second until something is so, which is looked for meanwhile. */
  async mined(what: string, isDone: () => Promise<boolean>): Promise<void> {
    await until(
      async () => {
        await this.chains.mine()
        const nextBlockAt = performance.now() + BLOCK_MS
        while (performance.now() < nextBlockAt) {
          await pause(LOOK_MS)
          if (await isDone()) return true
        }
        return false
      },
      { what, timeoutMs: 3 * MINUTES_MS },
    )
  }

  /** A page's text, which has to carry the mark of staging. */
  async page(url: string): Promise<string> {
    const { pathname, search } = new URL(url)
    const response = await fetch(this.site + pathname + search)
    const text = await response.text()
    expect(response.status, text).toBe(200)
    expect(response.headers.get('paylink-staging')).toBe('true')
    expect(text).toContain(STAGING_NOTICE)
    return text
  }

  /** Posts a form of a page as the browser that shows it does. */
  async post(url: string, form: { readonly [name: string]: string }): Promise<Response> {
    return await fetch(this.site + new URL(url).pathname, {
      method: 'POST',
      body: new URLSearchParams(form),
      redirect: 'manual',
      headers: { origin: BASE_URL, 'sec-fetch-site': 'same-origin' },
    })
  }

  /** A browser of nobody yet. */
  browser(from: string): TestBrowser {
    const fetchSite = (request: Request) => {
      const { pathname, search } = new URL(request.url)
      return fetch(new Request(this.site + pathname + search, request))
    }
    return createBrowser(fetchSite, from)
  }

  /** Opens a shop whose owner has set a password, confirmed the address and turned the second factor on. */
  async openAccount(name: string): Promise<Person & { readonly merchantId: string }> {
    const email = `${name}@example.com`
    const made = JSON.parse(
      await this.command('merchant', 'create', '--name', name, '--email', email, '--json'),
    )
    const token = new URL(made.set_password_url).searchParams.get('token')
    const browser = this.browser('203.0.113.7')
    await ok(browser.ask('POST', '/api/auth/reset-password', { newPassword: PASSWORD, token }))
    await ok(browser.ask('POST', '/api/auth/sign-in/email', { email, password: PASSWORD }))
    await ok(browser.ask('POST', '/api/auth/send-verification-email', { email }))
    const text = await this.#mailTo(email, 'verify-email')
    await ok(browser.ask('GET', `/api/auth/verify-email?token=${/token=(\S+)/.exec(text)?.[1]}`))
    const enabled = await ok(browser.ask('POST', '/api/auth/two-factor/enable', { password: PASSWORD }))
    const secret = new URL(enabled.totpURI).searchParams.get('secret') ?? ''
    await ok(browser.ask('POST', '/api/auth/two-factor/verify-totp', { code: await codeOf(secret) }))
    return { browser, email, secret, merchantId: made.id }
  }

  /** The newest email of the site that leads to a page; without a mail server it stands in the log. */
  async #mailTo(email: string, page: string): Promise<string> {
    const mails = () =>
      (this.#running.get('site')?.stderr() ?? '')
        .split('\n')
        .filter((line) => line.includes('"mail":{'))
        .map((line) => JSON.parse(line).mail)
        .filter(({ to, text }) => to === email && text.includes(`/dashboard/${page}?`))
    await until(() => mails().length > 0, { what: `an email about ${page} was written` })
    const { subject, text } = mails().at(-1)
    expect(subject).toMatch(/^\[Staging\] /)
    expect(text).toContain(STAGING_NOTICE)
    return text
  }
}

/** What a request that has to succeed was answered. */
export async function ok(asked: ReturnType<TestBrowser['ask']>) {
  const answer = await asked
  expect(answer.status, answer.text).toBeLessThan(300)
  return answer.body
}
