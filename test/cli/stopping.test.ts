import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { makeDataDir, runProgram, startApp, startProgram } from '../support/app.ts'
import { freePort } from '../support/free-port.ts'
import { startSilentServer } from '../support/silent-server.ts'
import { until } from '../support/until.ts'

let place: Awaited<ReturnType<typeof makeDataDir>>
beforeAll(async () => {
  place = await makeDataDir()
})
afterAll(() => place.remove())

// The folder is one and the same for all: what a start cut off left behind, the next goes on from.
test.each(['·', 'starting the signer', 'sandbox chain'])(
  'the first signal is obeyed while the program starts, after the line "%s"',
  async (line) => {
    const [port, operatorPort] = [String(await freePort()), String(await freePort())]
    const env = { DATA_DIR: place.dataDir, PORT: port, OPERATOR_PORT: operatorPort }
    const program = startProgram(['start'], env)
    await until(() => program.stdout().includes(line), { timeoutMs: 120_000 })
    program.signal('SIGTERM')
    expect(await program.exited(), program.stderr()).toBe(0)
    expect(program.stdout()).not.toContain('Stop with Ctrl-C')
  },
)

test('a signal that comes twice, as a terminal and a supervisor send it, stops in order', async () => {
  const app = await startApp(place)
  app.signal('SIGTERM')
  app.signal('SIGTERM')
  expect(await app.exited()).toBe(0)
  expect(app.stderr()).not.toContain('exiting at once')
})

test('nodes, exchanges and a mail server that never answer keep nobody from stopping in order', async () => {
  const [silent, mailServer] = [await startSilentServer(), await startSilentServer()]
  const at = `//u:p@127.0.0.1:${silent.port}`
  const [port, operatorPort] = [String(await freePort()), String(await freePort())]
  const program = startProgram(['start'], {
    DATA_DIR: place.dataDir,
    PORT: port,
    OPERATOR_PORT: operatorPort,
    LIVE_BITCOIN_RPC_URL: `http:${at}`,
    LIVE_LITECOIN_RPC_URL: `esplora+http://127.0.0.1:${silent.port}`,
    LIVE_ETHEREUM_RPC_URL: `http:${at}`,
    LIVE_BASE_RPC_URL: `http:${at}`,
    LIVE_SOLANA_RPC_URL: `http:${at}`,
    PRICE_COINBASE_URL: `http:${at}`,
    PRICE_KRAKEN_URL: `http:${at}`,
    PRICE_BITSTAMP_URL: `http:${at}`,
    CURRENCY_COINBASE_URL: `http:${at}`,
    CURRENCY_ECB_URL: `http:${at}`,
    SMTP_URL: `smtp://127.0.0.1:${mailServer.port}`,
    SIGN_UP: 'open',
  })
  await until(() => program.stdout().includes('paylink runs'), { timeoutMs: 60_000 })
  const answer = await fetch(`http://127.0.0.1:${port}/api/auth/sign-up/email`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: `http://localhost:${port}` },
    body: JSON.stringify({ name: 'A', email: 'a@shop.example', password: 'correct horse battery' }),
  })
  expect(answer.status).toBe(200)
  await until(() => mailServer.connections() > 0, { timeoutMs: 60_000 })
  program.signal('SIGTERM')
  expect(await program.exited()).toBe(0)
  expect(program.stderr()).not.toContain('exiting at once')
  expect(silent.connections()).toBeGreaterThan(0)
  await Promise.all([silent.close(), mailServer.close()])
}, 180_000)

test('a data folder where none can be made stops the start with one line, and does not hang', async () => {
  const { code, stderr } = await runProgram(['start'], { DATA_DIR: '/proc/paylink/data' })
  expect(stderr.trim().split('\n')).toEqual([
    expect.stringMatching(/^paylink: DATA_DIR \/proc\/paylink\/data cannot be written: /),
  ])
  expect(code).toBe(1)
})

test('what still runs after a stop that partly failed is ended: no process lives on without connections', async () => {
  const script = `
    const { createLogger } = await import('./dist/runtime/log.js')
    const { StopList, stopInTime } = await import('./dist/cli/stop-list.js')
    const log = createLogger('error', 'stderr')
    const stops = new StopList(log)
    const goesOn = setInterval(() => {}, 1_000)
    stops.add('the watcher', async () => {
      await Promise.reject(new Error('the database is away'))
      clearInterval(goesOn)
    })
    await stopInTime(stops, log)`
  const ended = promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script])
  await expect(ended).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringContaining('something keeps running after the stop'),
  })
})
