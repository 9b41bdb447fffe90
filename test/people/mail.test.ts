import pino from 'pino'
import { expect, test } from 'vitest'
import { openMail } from '../../src/mail/mail.ts'
import { startMailServer } from '../support/mail-server.ts'
import { startSilentServer } from '../support/silent-server.ts'
import { until } from '../support/until.ts'

test('closing waits for the emails under way, to a server that never answers too, and for nothing else', async () => {
  const silent = await startSilentServer()
  const told: string[] = []
  const log = pino({ level: 'error' }, { write: (line: string) => told.push(line) })
  const smtpUrl = `smtp://127.0.0.1:${silent.port}`
  const mail = openMail({ smtpUrl, from: 'Paylink <no-reply@pay.example>', log })
  await openMail({ smtpUrl, from: 'Paylink <no-reply@pay.example>', log }).close()
  await mail.send({ to: 'a@shop.example', subject: 'Hello', text: 'Hello' })
  await until(() => silent.connections() > 0, { what: 'the server is asked' })
  let isClosed = false
  const closing = mail.close().then(() => {
    isClosed = true
  })
  await new Promise((resolve) => setImmediate(resolve))
  expect([isClosed, told]).toEqual([false, []])
  await silent.close()
  await closing
  expect(told.join()).toContain('an email could not be sent')
})

const BURST = 300

test('one merchant’s burst costs no other their email, and what a server refuses for now is sent again', async () => {
  const server = await startMailServer()
  const told: string[] = []
  const log = pino({ level: 'error' }, { write: (line: string) => told.push(line) })
  const mail = openMail({ smtpUrl: server.url, from: 'Paylink <no-reply@pay.example>', log })
  for (let number = 0; number < BURST; number++) {
    await mail.send({ to: `${number}@busy.example`, subject: 'Paid', text: 'Paid' }, 'mer_busy')
  }
  await mail.send({ to: 'owner@quiet.example', subject: 'Paid', text: 'Paid' }, 'mer_quiet')
  await until(() => server.addressees.length > BURST, { what: 'all are sent' })
  expect(server.addressees.indexOf('owner@quiet.example')).toBeLessThan(BURST / 2)
  expect([new Set(server.addressees).size, told]).toEqual([BURST + 1, []])
  await mail.close()
  server.close()
})

test('emails of one merchant that a server refuses for now leave room for those of others', async () => {
  const server = await startMailServer()
  const told: string[] = []
  const log = pino({ level: 'error' }, { write: (line: string) => told.push(line) })
  const mail = openMail({ smtpUrl: server.url, from: 'Paylink <no-reply@pay.example>', log })
  const rounds = 3
  for (let round = 1; round <= rounds; round++) {
    const before = server.addressees.length
    for (let number = 0; number < BURST; number++) {
      await mail.send(
        { to: `${round}-${number}@box.full.example`, subject: 'Paid', text: 'Paid' },
        'mer_busy',
      )
    }
    // The very first connection is refused before it names anybody.
    await until(() => server.addressees.length >= before + BURST - 1, { what: 'all were tried' })
  }
  const refused = () => told.filter((line) => line.includes('too many wait')).length
  await until(() => refused() > 0, { what: 'the merchant has as many to send again as one may have' })
  await mail.send({ to: 'owner@quiet.example', subject: 'Paid', text: 'Paid' }, 'mer_quiet')
  await until(() => server.addressees.includes('owner@quiet.example'), { what: 'the other is written to' })
  await mail.close()
  server.close()
}, 180_000)

test('a shop whose id is somebody’s address crowds out no email to them', async () => {
  const silent = await startSilentServer()
  const told: string[] = []
  const log = pino({ level: 'error' }, { write: (line: string) => told.push(line) })
  const mail = openMail({
    smtpUrl: `smtp://127.0.0.1:${silent.port}`,
    from: 'Paylink <no-reply@pay.example>',
    log,
  })
  for (let number = 0; number < 550; number++)
    await mail.send({ to: `${number}@planted.example`, subject: 'Paid', text: 'Paid' }, 'owner@shop.example')
  expect([mail.hasRoom?.(200), told]).toEqual([true, []])
  await mail.send({ to: 'owner@shop.example', subject: 'New destination', text: 'New' })
  expect(told).toEqual([])
  const closing = mail.close()
  await silent.close()
  await closing
})

test('what is no longer due is not sent, and whoever handed an email over is told what became of it', async () => {
  const silent = await startSilentServer()
  const log = pino({ level: 'silent' })
  const mail = openMail({
    smtpUrl: `smtp://127.0.0.1:${silent.port}`,
    from: 'Paylink <no-reply@pay.example>',
    log,
  })
  const told: string[] = []
  const hooks = (name: string, isStillDue: () => Promise<boolean>) => ({
    isStillDue,
    onNotSent: async (reason: string) => void told.push(`${name} ${reason}`),
  })
  const email = { to: 'a@shop.example', subject: 'Hello', text: 'Hello' }
  await mail.send(
    email,
    'mer_a',
    hooks('paid', async () => false),
  )
  await until(() => told.length === 1, { what: 'it is not due' })
  expect([told, silent.connections()]).toEqual([['paid not_due'], 0])
  // A database that is away is an attempt that failed, not an answer.
  await mail.send(
    email,
    'mer_a',
    hooks('retried', () => Promise.reject(new Error('away'))),
  )
  await mail.send(
    email,
    'mer_a',
    hooks('silent', async () => true),
  )
  await until(() => silent.connections() > 0, { what: 'the server is asked' })
  expect(told).toHaveLength(1)
  expect([mail.hasRoom?.(500, 'mer_a'), mail.hasRoom?.(490, 'mer_a'), mail.hasRoom?.(500, 'mer_b')]).toEqual([
    false,
    true,
    true,
  ])
  const closing = mail.close()
  await silent.close()
  await closing
  expect(told.sort()).toEqual(['paid not_due', 'retried given_up', 'silent given_up'])
})
