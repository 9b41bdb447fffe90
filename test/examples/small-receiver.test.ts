import { type ChildProcess, spawn } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { request } from 'node:http'
import { connect } from 'node:net'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freePort } from '../support/free-port.ts'

const SCRIPT = fileURLToPath(new URL('../../examples/receiver.mjs', import.meta.url))
const SECRET = 'whsec_a-secret-of-the-test'

let port: number
let child: ChildProcess

beforeAll(async () => {
  port = await freePort()
  child = spawn(process.execPath, [SCRIPT, SECRET, String(port)], { stdio: ['ignore', 'pipe', 'inherit'] })
  if (child.stdout === null) throw new Error('the receiver has no output')
  await once(child.stdout, 'data')
  child.stdout.resume()
})
afterAll(() => {
  child.kill('SIGKILL')
})

const sign = (body: string, secret = SECRET, unixSeconds = Math.floor(Date.now() / 1_000)) =>
  `t=${unixSeconds},v1=${createHmac('sha256', secret).update(`${unixSeconds}.${body}`).digest('hex')}`

function post(body: string, signature: string): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const headers = { 'paylink-signature': signature }
    const sent = request({ host: '127.0.0.1', port, method: 'POST', headers }, (response) => {
      let text = ''
      response.on('data', (chunk: Buffer) => {
        text += chunk.toString()
      })
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }))
    })
    sent.on('error', reject)
    sent.end(body)
  })
}

test('it takes what is signed and answers a challenge', async () => {
  const event = JSON.stringify({ event_type: 'invoice.paid', sequence: 4, data: { status: 'paid' } })
  expect(await post(event, sign(event))).toEqual({ status: 200, text: '' })
  const challenge = JSON.stringify({ event_type: 'webhook.endpoint_verification', data: { challenge: 'x' } })
  expect(await post(challenge, sign(challenge))).toEqual({ status: 200, text: '{"challenge":"x"}' })
})

test('it takes an event of 64 KB', async () => {
  const event = JSON.stringify({ event_type: 'invoice.paid', sequence: 4, data: { filler: '' } })
  const large = event.replace('"filler":""', `"filler":"${'x'.repeat(65_536 - event.length)}"`)
  expect(Buffer.byteLength(large)).toBe(65_536)
  expect(await post(large, sign(large))).toEqual({ status: 200, text: '' })
})

test('nothing that a stranger sends is believed, and nothing ends it', async () => {
  const now = Math.floor(Date.now() / 1_000)
  const good = sign('{}').split(',')[1] ?? ''
  const forgeries = [
    '',
    't',
    `t=${now}`,
    `t=${now},v1`,
    `t=${now},v1=`,
    `t=${now},v1=zz`,
    `t=${now},t=${now},${good}`,
    `t=soon,${good}`,
    sign('{}', 'whsec_another'),
    sign('{}', ''),
    sign('{}', SECRET, now - 400),
    sign('{"other":1}'),
  ]
  for (const signature of forgeries) {
    expect([signature, (await post('{}', signature)).status]).toEqual([signature, 401])
  }
  // One goes away in the middle of its body, another never ends it.
  const away = connect(port, '127.0.0.1')
  await once(away, 'connect')
  away.write('POST / HTTP/1.1\r\nhost: shop\r\ncontent-length: 100\r\n\r\n{')
  away.resetAndDestroy()
  await expect(post('x'.repeat(3_000_000), sign('{}'))).rejects.toThrow()
  expect((await post('{}', 'again')).status).toBe(401)
  expect(child.exitCode).toBeNull()
})

test.each([[[]], [['']], [['undefined']]])('it does not start with %j for a secret', async (args) => {
  const wrong = spawn(process.execPath, [SCRIPT, ...args], { stdio: 'ignore' })
  expect(await once(wrong, 'exit')).toEqual([1, null])
})
