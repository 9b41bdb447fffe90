import pino from 'pino'
import { expect, test } from 'vitest'
import { openMail } from '../../src/mail/mail.ts'
import { until } from '../support/litecoind.ts'
import { startSilentServer } from '../support/silent-server.ts'

test('closing waits for the e-mails under way, to a server that never answers too, and for nothing else', async () => {
  const silent = await startSilentServer()
  const told: string[] = []
  const log = pino({ level: 'error' }, { write: (line: string) => told.push(line) })
  const smtpUrl = `smtp://127.0.0.1:${silent.port}`
  const mail = openMail({ smtpUrl, from: 'Paylink <no-reply@pay.example>', log })
  await mail.close()
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
  expect(told.join()).toContain('an e-mail could not be sent')
})
