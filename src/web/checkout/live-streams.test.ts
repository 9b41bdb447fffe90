import { expect, test, vi } from 'vitest'
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

test('a page hears every three seconds that its connection holds, and nothing is read for that', async () => {
  vi.useFakeTimers()
  const read = vi.fn(async () => ({ byLanguage: new Map(), movesWith: [] }))
  const streams = new LiveStreams({ read, onError: () => expect.unreachable() })
  try {
    const page = { invoiceId: 'invoice', token: 'token', version: '', language: 'en', caller: '192.0.2.1' }
    const reader = streams.open(page)?.getReader()
    const heard = async () => new TextDecoder().decode((await reader?.read())?.value)
    expect(await heard()).toBe('retry: 3000\n\n')
    for (let count = 0; count < 4; count++) {
      await vi.advanceTimersByTimeAsync(3_000)
      expect(await heard()).toBe('event: beat\ndata: 1\n\n')
    }
    expect(read).toHaveBeenCalledTimes(1)
  } finally {
    streams.close()
    vi.useRealTimers()
  }
})
