import { expect, test } from 'vitest'
import { LiveStreams } from './live-streams.ts'

const STREAMS_PER_CALLER = 2_500

test('one caller cannot take the streams of all, and has its own back when they end', async () => {
  const streams = new LiveStreams({ read: () => new Promise(() => {}), onError: () => expect.unreachable() })
  const open = (page: number, caller: string) =>
    streams.open({
      invoiceId: `invoice-${page}`,
      token: `token-${page}`,
      version: '',
      language: 'en',
      caller,
    })
  const taken = Array.from({ length: STREAMS_PER_CALLER }, (_, page) => open(page, '192.0.2.1'))
  expect(taken.every((stream) => stream !== null)).toBe(true)
  expect(open(STREAMS_PER_CALLER, '192.0.2.1')).toBeNull()
  expect(open(STREAMS_PER_CALLER, '192.0.2.2')).not.toBeNull()
  await taken[0]?.cancel()
  expect(open(0, '192.0.2.1')).not.toBeNull()
  expect(open(1, '192.0.2.1')).toBeNull()
  streams.close()
  expect(streams.size).toBe(0)
})
