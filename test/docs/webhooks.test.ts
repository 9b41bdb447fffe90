import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { DEPOSIT_EVENT_TYPES } from '../../src/core/deposit/deposit.ts'
import {
  BACKOFF_FIRST_MS,
  BACKOFF_MAX_MS,
  GIVE_UP_AFTER_MS,
  WAIT_MS_MAX,
} from '../../src/core/endpoint/backoff.ts'
import { PAYOUT_EVENT_TYPES, VERIFICATION_EVENT_TYPE } from '../../src/core/endpoint/subscriptions.ts'
import {
  LATE_MS_PER_SLOT,
  OUTAGE_MS_MIN,
  THROTTLED_AT,
  THROTTLED_PACE_MS,
  THROTTLED_ROWS_PER_TURN,
  THROTTLED_SLOTS_MAX,
} from '../../src/core/endpoint/throttle.ts'
import { INVOICE_EVENT_TYPES } from '../../src/core/invoice/types.ts'
import { CONNECTIONS_PER_ENDPOINT } from '../../src/delivery/connection-pool.ts'
import { OUTCOME_CODES } from '../../src/delivery/outcome-code.ts'
import { RECEIVER_DEADLINE_MS, signatureHeader, signedHeaders } from '../../src/delivery/send.ts'
import { CONCURRENCY_DEFAULT } from '../../src/delivery/worker.ts'
import { depositView } from '../../src/wire/deposit.ts'
import { invoiceView } from '../../src/wire/invoice.ts'
import { payoutView } from '../../src/wire/payout.ts'
import { eventExamples } from '../support/event-examples.ts'

/** What the guides of webhooks say is what the code does. */

const ROOT = new URL('../..', import.meta.url).pathname
const guide = (name: string) => readFile(join(ROOT, 'docs', name), 'utf8')
/** A guide as one line, so that it does not matter where a sentence wraps. */
const sentencesOf = async (name: string) => (await guide(name)).replace(/\s+/g, ' ')

/** First cells of a table's rows below `heading`, without their backticks. */
function firstColumn(text: string, heading: string): string[] {
  const section = text.slice(text.indexOf(`\n${heading}\n`) + 1).split(/\n##? /)[0] ?? ''
  const rows = section.split('\n').filter((line) => line.startsWith('| `'))
  return rows.flatMap((row) =>
    [...(row.split('|')[1] ?? '').matchAll(/`([^`]+)`/g)].map((match) => match[1] ?? ''),
  )
}

test('docs/events.md has a section for every event that there is, with the body that the code makes', async () => {
  const text = await guide('events.md')
  const sections = text
    .slice(text.indexOf('\n## Types\n'))
    .split(/\n### /)
    .slice(1)
  const documented = new Map(
    sections.map((section): [string, unknown] => {
      const json = /```json\n([\s\S]*?)```/.exec(section)?.[1] ?? 'null'
      return [section.slice(0, section.indexOf('\n')), JSON.parse(json)]
    }),
  )
  expect([...documented.keys()]).toEqual([
    ...INVOICE_EVENT_TYPES,
    ...PAYOUT_EVENT_TYPES,
    ...DEPOSIT_EVENT_TYPES,
    VERIFICATION_EVENT_TYPE,
  ])
  const examples = eventExamples()
  for (const [type, body] of documented) expect({ type, body }).toEqual({ type, body: examples.get(type) })
})

test('every example is what the API’s schema says of an invoice, a payout or a deposit', () => {
  const invoice = invoiceView.omit({ checkout_url: true, payment_link_name: true }).strict()
  const payout = payoutView.strict()
  const deposit = depositView.strict()
  for (const [type, example] of eventExamples()) {
    if (type === VERIFICATION_EVENT_TYPE) continue
    const { data } = example as { data: object }
    const schema = type.startsWith('deposit.') ? deposit : type.startsWith('payout.') ? payout : invoice
    expect(schema.parse(data)).toEqual(data)
  }
})

test('docs/events.md names the headers, the fields and the types that there are', async () => {
  const text = await guide('events.md')
  const request = firstColumn(text, '## The request')
  const sent = signedHeaders(
    { eventId: 'evt_1', schemaVersion: 1, body: Buffer.from('{}'), secrets: ['x'] },
    1,
  )
  const fields = Object.keys(eventExamples().get('invoice.paid') ?? {})
  expect(request).toEqual([...Object.keys(sent), ...fields])
  expect(sent['user-agent']).toBe('Paylink-Webhooks/1')
})

test('deadlines and retries are those of the code, in every guide that states them', async () => {
  const [events, receiving, operating] = await Promise.all(
    ['events.md', 'receiving-webhooks.md', 'operating-webhooks.md'].map(sentencesOf),
  )
  const seconds = (ms: number) => `${ms / 1_000} seconds`
  const giveUp = `${GIVE_UP_AFTER_MS / 86_400_000} days`
  expect(events).toContain(`You have ${seconds(RECEIVER_DEADLINE_MS)}`)
  expect(events).toContain(`again after ${seconds(BACKOFF_FIRST_MS)}`)
  expect(events).toContain(`at most ${WAIT_MS_MAX / 3_600_000} hours`)
  expect(events).toContain(`more than ${BACKOFF_MAX_MS / 3_600_000} hours apart`)
  expect(events).toContain(`for ${giveUp}`)
  expect(receiving).toContain(`within ${seconds(RECEIVER_DEADLINE_MS)}`)
  expect(receiving).toContain(`for ${giveUp}`)
  expect(operating).toContain(`After ${giveUp}`)
  expect(operating).toContain(`fails ${THROTTLED_AT} times in a row`)
  expect(events).toContain(`fails ${THROTTLED_AT} times in a row`)
  expect(events).toContain(`to ${WAIT_MS_MAX / 3_600_000} hours at most`)
  for (const text of [events, operating]) expect(text).toContain(`for ${OUTAGE_MS_MIN / 60_000} minutes`)
  expect(CONNECTIONS_PER_ENDPOINT).toBe(8)
  for (const text of [events, operating]) {
    expect(text).toContain(`${THROTTLED_SLOTS_MAX} at most`)
    expect(text).toMatch(new RegExp(`no more than ${THROTTLED_ROWS_PER_TURN} (of them )?in a second`))
  }
  expect(operating).toContain(`up to ${THROTTLED_SLOTS_MAX} to one`)
  expect(operating).toContain('Eight connections at most')
})

test('the deliveries that may wait for a throttled endpoint are no more than its turns of six hours allow', async () => {
  const operating = await sentencesOf('operating-webhooks.md')
  const turnMs = BACKOFF_MAX_MS - WAIT_MS_MAX
  const turnsOf = (slots: number, ms: number) => (slots * ms) / (RECEIVER_DEADLINE_MS + THROTTLED_PACE_MS)
  const riseMs = THROTTLED_SLOTS_MAX * LATE_MS_PER_SLOT
  const told = (row: string) =>
    Number(new RegExp(`\\| ${row}[^|]*\\| ([0-9,]+) deliveries`).exec(operating)?.[1]?.replaceAll(',', ''))
  for (const [row, deliveries] of [
    ['one endpoint that hangs', turnsOf(THROTTLED_SLOTS_MAX, turnMs - riseMs / 2)],
    ['one endpoint that fails at once', (THROTTLED_ROWS_PER_TURN * turnMs) / THROTTLED_PACE_MS],
    ['all that hang together', turnsOf(CONCURRENCY_DEFAULT / 2, turnMs)],
  ] as const) {
    expect(told(row)).toBeLessThanOrEqual(deliveries)
    expect(told(row)).toBeGreaterThan(deliveries * 0.85)
  }
  const events = await sentencesOf('events.md')
  expect(events).toContain(
    `no more than ${told('one endpoint that hangs').toLocaleString('en-US')} deliveries wait`,
  )
})

test('the example of a signature in docs/receiving-webhooks.md is one', async () => {
  const block = /```text\n([\s\S]*?)```/.exec(await guide('receiving-webhooks.md'))?.[1] ?? ''
  const field = (name: string): string => new RegExp(`^${name} +(.*)$`, 'm').exec(block)?.[1] ?? ''
  const body = Buffer.from(field('body'))
  expect(signatureHeader([field('secret')], Number(field('t')), body)).toBe(
    `t=${field('t')},v1=${field('v1')}`,
  )
})

test('docs/operating-webhooks.md explains every outcome of an attempt, and only metrics that exist', async () => {
  const text = await guide('operating-webhooks.md')
  expect(firstColumn(text, '## How attempts end').sort()).toEqual([...OUTCOME_CODES].sort())
  const sources = (await readdir(join(ROOT, 'src'), { recursive: true })).filter((name) =>
    name.endsWith('.ts'),
  )
  const code = (await Promise.all(sources.map((name) => readFile(join(ROOT, 'src', name), 'utf8')))).join(
    '\n',
  )
  const named = new Set(text.match(/\bpaylink_deliver[a-z_]+/g))
  expect([...named].filter((name) => !code.includes(`'${name}'`))).toEqual([])
  const inCode = new Set(code.match(/(?<=')paylink_deliver(?:y_|ies_)[a-z_]+(?=')/g))
  expect([...inCode].filter((name) => !named.has(name))).toEqual([])
})
