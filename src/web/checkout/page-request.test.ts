import { Hono } from 'hono'
import { expect, test } from 'vitest'
import { formFields } from './page-request.ts'

const app = new Hono().post('/', async (c) => c.json({ fields: await formFields(c, ['asset']) }))
const fieldsOf = async (body: BodyInit) =>
  (await app.request('/', { method: 'POST', body, duplex: 'half' } as RequestInit)).json()

test('a form has the fields that it may have, each once, and one that was cut off has none', async () => {
  expect(await fieldsOf('asset=LTC')).toEqual({ fields: { asset: 'LTC' } })
  for (const other of ['asset=LTC&asset=BTC', 'asset=LTC&more=1']) {
    expect(await fieldsOf(other), other).toEqual({ fields: null })
  }
  const cutOff = new ReadableStream({ start: (controller) => controller.error(new Error('aborted')) })
  expect(await fieldsOf(cutOff)).toEqual({ fields: null })
})
