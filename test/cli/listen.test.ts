import { type ChildProcess, spawn } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { verify } from '../../packages/sdk/src/webhooks/verify.ts'
import { type App, makeDataDir, runProgram, startApp } from '../support/app.ts'
import { until } from '../support/until.ts'
import { startReceiver, type WebhookReceiver } from '../support/webhook-receiver.ts'

/** `paylink listen` as a developer uses it: the built program beside the sandbox, no endpoint anywhere. */

const PROGRAM = new URL('../../dist/main.js', import.meta.url).pathname
const TOLD_MS_MAX = 120_000
/** Slower than any tick of the program, faster than the deadline of a request that hangs. */
const STOP_MS_MAX = 9_000

let place: Awaited<ReturnType<typeof makeDataDir>>
let app: App
let receiver: WebhookReceiver
let listening: Listening | undefined
beforeAll(async () => {
  place = await makeDataDir()
  app = await startApp(place)
  receiver = await startReceiver()
})
afterEach(async () => {
  await listening?.stop()
  listening = undefined
  receiver.respond = (_event, response) => void response.writeHead(200).end()
})
afterAll(async () => {
  await app.stop()
  await receiver.close()
  await place.remove()
})

type Listening = {
  readonly secret: string
  lines(): string[]
  stderr(): string
  /** Interrupts it as Ctrl-C does; the exit code. */
  stop(): Promise<number | null>
}

async function listen(...args: string[]): Promise<Listening> {
  const child: ChildProcess = spawn(process.execPath, [PROGRAM, 'listen', ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env.PATH, DATA_DIR: place.dataDir },
  })
  let stdout = ''
  let stderr = ''
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
  })
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  await until(
    () => {
      if (child.exitCode !== null) throw new Error(`listen ended with ${child.exitCode}:\n${stderr}`)
      return stdout.includes('Stop with Ctrl-C')
    },
    { timeoutMs: TOLD_MS_MAX },
  )
  return {
    secret: /Signing secret +(whsec_\S+)/.exec(stdout)?.[1] ?? '',
    lines: () => stdout.split('\n').filter((line) => /^[✓✗]/.test(line)),
    stderr: () => stderr,
    stop: () => {
      child.kill('SIGINT')
      return ended
    },
  }
}

async function createInvoice(): Promise<string> {
  const order = { usd_amount: '12.50', asset: 'LTC', external_reference: 'order-1' }
  const { status, body } = await app.api('POST', '/api/v1/invoices', order)
  expect(status).toBe(201)
  return (body as { id: string }).id
}

const eventsOf = (invoiceId: string) =>
  receiver.events
    .map((event) => JSON.parse(event.body.toString('utf8')))
    .filter(({ data }) => data.id === invoiceId)
const typesOf = (invoiceId: string): string[] => eventsOf(invoiceId).map(({ event_type }) => event_type)
const untilTold = (invoiceId: string, type: string) =>
  until(() => typesOf(invoiceId).includes(type), { timeoutMs: TOLD_MS_MAX })

test('every event from now on reaches the local receiver, signed, in order, and is printed in one line', async () => {
  const before = await createInvoice()
  listening = await listen('--forward-to', receiver.url)
  const invoice = await createInvoice()
  await app.api('POST', `/api/v1/test/invoices/${invoice}/pay`, { scenario: 'exact' })
  await untilTold(invoice, 'invoice.paid')
  expect(typesOf(invoice)).toEqual([
    'invoice.created',
    'invoice.payment_detected',
    'invoice.confirming',
    'invoice.paid',
  ])
  expect(typesOf(before)).toEqual([])
  for (const event of receiver.events) {
    expect(verify(event.body, event.headers, listening.secret).kind).toBe('invoice')
  }
  const line = /^✓ \d\d:\d\d:\d\d invoice\.paid {13}(inv_\w{26}) #4 {2}200 in \d+ ms$/
  const paid = () => listening?.lines().map((text) => line.exec(text)?.[1])
  await until(() => paid()?.includes(invoice) === true, {
    what: 'the line of the payment is written',
    timeoutMs: TOLD_MS_MAX,
  })
  expect(listening.stderr()).toBe('')
})

test("the receiver's response is printed, a failure and a missing receiver too", async () => {
  receiver.respond = (_event, response) => void response.writeHead(500).end('out of order')
  listening = await listen('--forward-to', receiver.url)
  await createInvoice()
  await until(() => listening?.lines().some((line) => /^✗ .* 500 in \d+ ms$/.test(line)) ?? false, {
    timeoutMs: TOLD_MS_MAX,
  })
  await listening.stop()
  listening = await listen('--forward-to', 'http://127.0.0.1:9/webhooks')
  await createInvoice()
  await until(() => listening?.lines().some((line) => /^✗ .* no answer: /.test(line)) ?? false, {
    timeoutMs: TOLD_MS_MAX,
  })
})

test('the secret is the same at every start, and another for another merchant', async () => {
  listening = await listen('--forward-to', receiver.url)
  const { secret } = listening
  expect(secret).toMatch(/^whsec_[0-9A-Za-z]{40}$/)
  await listening.stop()
  listening = await listen('--forward-to', receiver.url)
  expect(listening.secret).toBe(secret)
  await listening.stop()
  const made = await app.command(
    'merchant',
    'create',
    '--name',
    'Other',
    '--email',
    'a@shop.example',
    '--json',
  )
  listening = await listen('--forward-to', receiver.url, '--merchant', JSON.parse(made.stdout).id)
  expect(listening.secret).not.toBe(secret)
  const foreign = await createInvoice()
  await createEvent(JSON.parse(made.stdout).id)
  await until(() => listening?.lines().length === 1, { timeoutMs: TOLD_MS_MAX })
  expect(typesOf(foreign)).toEqual([])
})

/** An invoice of another merchant, made through the API with a key of its own. */
async function createEvent(merchantId: string): Promise<void> {
  const options = ['--merchant', merchantId, '--mode', 'test', '--scopes', 'invoices:write', '--json']
  const { stdout } = await app.command('key', 'create', ...options)
  const response = await fetch(`${app.baseUrl}/api/v1/invoices`, {
    method: 'POST',
    headers: { authorization: `Bearer ${JSON.parse(stdout).key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ usd_amount: '5.00', asset: 'LTC' }),
  })
  expect(response.status).toBe(201)
}

test('Ctrl-C ends it at once and cleanly, also while a receiver hangs', async () => {
  receiver.respond = () => {}
  listening = await listen('--forward-to', receiver.url)
  const invoice = await createInvoice()
  await untilTold(invoice, 'invoice.created')
  const startedAt = performance.now()
  expect(await listening.stop()).toBe(0)
  expect(performance.now() - startedAt).toBeLessThan(STOP_MS_MAX)
  expect(listening.stderr()).toBe('')
})

test('after the database went away it goes on by itself where it stopped, and says so once', async () => {
  listening = await listen('--forward-to', receiver.url)
  const postmaster = await readFile(join(place.dataDir, 'postgres', 'postmaster.pid'), 'utf8')
  process.kill(Number(postmaster.split('\n')[0]), 'SIGKILL')
  let invoice = ''
  await until(
    async () => {
      const { status, body } = await app.api('POST', '/api/v1/invoices', { usd_amount: '9.00', asset: 'LTC' })
      invoice = (body as { id: string }).id
      return status === 201
    },
    { timeoutMs: TOLD_MS_MAX },
  )
  await untilTold(invoice, 'invoice.created')
  expect(
    listening
      .stderr()
      .split('\n')
      .filter((line) => line !== '').length,
  ).toBeLessThanOrEqual(1)
})

test('what is wrong with the command line is said in one line', async () => {
  const wrong = [
    ['listen'],
    ['listen', '--forward-to', 'localhost:4000'],
    ['listen', '--forward-to', 'ftp://localhost/'],
    ['listen', '--forward-to', 'http://user:password@localhost:4000/'],
    ['listen', '--forward-to', receiver.url, '--merchant', 'mer_unknown'],
  ]
  for (const args of wrong) {
    const { code, stderr } = await app.command(...args)
    expect({ args, code, lines: stderr.trim().split('\n').length }).toEqual({ args, code: 2, lines: 1 })
  }
  const empty = await makeDataDir()
  const { code, stderr } = await runProgram(['listen', '--forward-to', receiver.url], {
    DATA_DIR: empty.dataDir,
  })
  expect(stderr).toContain('--merchant')
  expect(code).toBe(2)
  await empty.remove()
})
