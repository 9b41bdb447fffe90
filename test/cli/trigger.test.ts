import { afterAll, beforeAll, expect, test } from 'vitest'
import { type App, makeDataDir, makePlace, runProgram, startApp } from '../support/app.ts'

let place: Awaited<ReturnType<typeof makePlace>>
let app: App
beforeAll(async () => {
  place = await makePlace()
  app = await startApp(place)
})
afterAll(async () => {
  await app?.stop()
  await place.remove()
})

test.each([
  'created',
  'payment_detected',
  'confirming',
  'paid',
  'partially_paid',
  'overpaid',
  'expired',
  'manual_review',
])(
  'invoice.%s happens to an invoice of its own',
  async (name) => {
    const { code, stdout, stderr } = await app.command('trigger', `invoice.${name}`)
    expect([code, stderr]).toEqual([0, ''])
    const [, invoiceId, eventId] =
      /^Invoice (inv_\w+): http\S+\n✓ invoice\.\w+ (evt_\w+)\n$/.exec(stdout) ?? []
    const { body } = await app.api('GET', `/api/v1/events/${eventId}`)
    expect(body).toMatchObject({ event_type: `invoice.${name}`, resource_id: invoiceId })
  },
  90_000,
)

test('another coin is paid on its own chain', async () => {
  expect(await app.command('trigger', 'invoice.paid', '--asset', 'USDC_BASE')).toMatchObject({ code: 0 })
})

test('what cannot happen is said in one line', async () => {
  expect(await app.command('trigger', 'payout.confirmed')).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^paylink: use one of invoice\.created, .+\n$/),
  })
  expect(await app.command('trigger', 'invoice.paid', '--asset', 'DOGE')).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^paylink: .+\n$/),
  })
  const empty = await makeDataDir()
  expect(await runProgram(['trigger', 'invoice.paid'], { DATA_DIR: empty.dataDir })).toMatchObject({
    code: 2,
    stderr: 'paylink: there is no demo shop here: start the sandbox first\n',
  })
  await empty.remove()
})

test('--version prints the version', async () => {
  expect(await app.command('--version')).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
  })
})
