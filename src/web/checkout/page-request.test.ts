import { Hono } from 'hono'
import { expect, test } from 'vitest'
import { limitBody } from '../limit-body.ts'
import { formFields } from './page-request.ts'

const app = new Hono().post(
  '/',
  limitBody(100, (c) => c.text('refused', 400)),
  async (c) => c.json(await formFields(c, ['asset'])),
)
const answerTo = async (body: BodyInit, headers = {}) =>
  (await app.request('/', { method: 'POST', body, headers, duplex: 'half' } as RequestInit)).text()

test('a form has the fields that it may have, each once', async () => {
  expect(await answerTo('asset=LTC')).toBe('{"asset":"LTC"}')
  for (const other of ['asset=LTC&asset=BTC', 'asset=LTC&more=1']) {
    expect(await answerTo(other), other).toBe('null')
  }
  expect(await answerTo(`asset=${'x'.repeat(100)}`)).toBe('refused')
})

test('a form that was cut off is the caller’s doing, whether its length was declared or not', async () => {
  const cutOff = () => new ReadableStream({ start: (controller) => controller.error(new Error('aborted')) })
  expect(await answerTo(cutOff(), { 'content-length': '50' })).toBe('null')
  expect(await answerTo(cutOff())).toBe('refused')
})
