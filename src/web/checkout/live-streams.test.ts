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

const PAGE = { version: '', language: 'en', caller: '192.0.2.1' }

test('open invoices are read one after the other, each 15 s after it was, with rests between', async () => {
  vi.useFakeTimers()
  const reads = new Map<string, number>()
  const read = async (token: string) => {
    reads.set(token, (reads.get(token) ?? 0) + 1)
    if (reads.get(token) === 2) await new Promise((resolve) => setTimeout(resolve, 10))
    return { byLanguage: new Map(), movesWith: [] }
  }
  const streams = new LiveStreams({ read, onError: () => expect.unreachable() })
  try {
    for (let page = 0; page < 100; page++)
      streams.open({ ...PAGE, invoiceId: `invoice-${page}`, token: `token-${page}`, caller: `${page}` })
    const readAgainAfter = async (ms: number) => {
      await vi.advanceTimersByTimeAsync(ms)
      return [...reads.values()].filter((count) => count === 2).length
    }
    expect(await readAgainAfter(14_500)).toBe(0)
    expect(await readAgainAfter(2_000)).toBeLessThan(50)
    expect(await readAgainAfter(3_500)).toBe(100)
    expect(Math.max(...reads.values())).toBe(2)
  } finally {
    streams.close()
    vi.useRealTimers()
  }
})

test('an invoice that changes whenever it is read keeps no other from its turn', async () => {
  vi.useFakeTimers()
  const readings = { busy: 0, other: 0 }
  const read = async (token: string) => {
    readings[token === 'busy' ? 'busy' : 'other'] += 1
    // From its first turn on.
    if (token === 'busy' && readings.busy > 1) streams.invoiceChanged('busy')
    await new Promise((resolve) => setTimeout(resolve, 10))
    return { byLanguage: new Map(), movesWith: [] }
  }
  const streams = new LiveStreams({ read, onError: () => expect.unreachable() })
  try {
    for (const invoiceId of ['busy', 'other']) streams.open({ ...PAGE, invoiceId, token: invoiceId })
    await vi.advanceTimersByTimeAsync(40_000)
    expect(readings.other).toBeGreaterThan(2)
  } finally {
    streams.close()
    vi.useRealTimers()
  }
})

test('a page whose invoice cannot be read hears no beat until it can', async () => {
  vi.useFakeTimers()
  const read = vi.fn(async () => ({ byLanguage: new Map(), movesWith: [] }))
  read.mockRejectedValueOnce(new Error('no database'))
  const errors: unknown[] = []
  const streams = new LiveStreams({ read, onError: (error) => errors.push(error) })
  try {
    const reader = streams.open({ ...PAGE, invoiceId: 'invoice', token: 'token' })?.getReader()
    const heard = async () => new TextDecoder().decode((await reader?.read())?.value)
    expect(await heard()).toBe('retry: 3000\n\n')
    await vi.advanceTimersByTimeAsync(9_000)
    expect(await heard()).toBe(': unavailable\n\n')
    expect(errors).toHaveLength(1)
    streams.invoiceChanged('invoice')
    await vi.advanceTimersByTimeAsync(3_000)
    expect(await heard()).toBe('event: beat\ndata: 1\n\n')
  } finally {
    streams.close()
    vi.useRealTimers()
  }
})
