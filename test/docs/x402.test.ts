import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type App, makePlace, startApp } from '../support/app.ts'
import { readRootFile } from '../support/root-file.ts'
import { until } from '../support/until.ts'

const ROOT = new URL('../..', import.meta.url).pathname
/** Anvil's second test key, known to everybody. */
const KEY = '0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d'
const WAIT_MS_MAX = 60_000

let place: Awaited<ReturnType<typeof makePlace>>
let app: App
beforeAll(async () => {
  place = await makePlace()
  app = await startApp({ ...place, env: { X402: '1' } })
})
afterAll(async () => {
  await app.stop()
  await place.remove()
})

test('the program of the guide pays an invoice of the sandbox as it stands there', async () => {
  const [, snippet] = /```js\n([\s\S]*?)```/.exec(await readRootFile('docs/x402.md')) ?? []
  const order = { usd_amount: '10.00', asset: 'USDC_BASE' }
  let invoice = { id: '', checkout_url: '' }
  await until(
    async () => {
      const { status, body } = await app.api('POST', '/api/v1/invoices', order)
      if (status === 201) invoice = body as typeof invoice
      return status === 201
    },
    { timeoutMs: WAIT_MS_MAX },
  )
  const checkoutUrl = invoice.checkout_url.replace('//localhost', '//127.0.0.1')
  await until(async () => (await fetch(`${checkoutUrl}/x402`)).status === 402, { timeoutMs: WAIT_MS_MAX })
  const program = `const KEY = '${KEY}'
    const invoice = { checkout_url: '${checkoutUrl}' }
    ${snippet}`
  const ran = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program], {
    cwd: ROOT,
  })
  expect(ran.stdout).toContain("status: 'settled'")
  expect(ran.stdout).toContain(invoice.id)
  await until(
    async () => {
      const { body: now } = await app.api('GET', `/api/v1/invoices/${invoice.id}`)
      return (now as { status: string }).status === 'paid'
    },
    { timeoutMs: WAIT_MS_MAX },
  )
})
