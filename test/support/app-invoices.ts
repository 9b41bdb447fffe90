import { expect } from 'vitest'
import type { App } from './app.ts'
import { until } from './until.ts'

export type Body = { [field: string]: unknown }

const STATUS_MS_MAX = 120_000
const AVAILABLE_MS_MAX = 120_000

/** The demo shop's invoices of a running program, over its API. */
export function invoicesOf(app: () => App) {
  /** The invoice's events, oldest first. */
  const toldOf = async (id: unknown) => {
    const { body } = await app().api('GET', '/api/v1/events?limit=100')
    const { data } = body as { data: { event_type: string; data: Body }[] }
    return data.filter((event) => event.data.id === id).reverse()
  }
  const assets = async () => {
    const { body } = await app().api('GET', '/api/v1/assets')
    return (body as { data: { asset: string; available: boolean }[] }).data
  }
  return {
    create: async (asset: string): Promise<Body> => {
      const made = await app().api('POST', '/api/v1/invoices', { usd_amount: '25.00', asset })
      expect(made.status).toBe(201)
      return made.body as Body
    },
    isAvailable: async (asset: string): Promise<boolean> =>
      (await assets()).some((each) => each.asset === asset && each.available),
    /** The coins that the shop accepts and that can be taken now, in the order of the alphabet. */
    availableAssets: async (): Promise<string[]> =>
      (await assets()).flatMap(({ asset, available }) => (available ? [asset] : [])).sort(),
    /** On a busy machine the banner is there before the last of the chains is followed. */
    untilAllAreAvailable: () =>
      until(async () => (await assets()).every(({ available }) => available), {
        what: 'every coin can be taken',
        timeoutMs: AVAILABLE_MS_MAX,
      }),
    /** The invoice's types of events, oldest first. */
    eventsOf: async (id: unknown): Promise<string[]> =>
      (await toldOf(id)).map(({ event_type }) => event_type),
    /** The invoice as its first event of this type tells it: a status may pass between two looks, its event stays. */
    untilTold: async (id: unknown, type: string): Promise<Body> => {
      let told: Body | undefined
      await until(
        async () => {
          told = (await toldOf(id)).find(({ event_type }) => event_type === type)?.data
          return told !== undefined
        },
        { what: `${type} is told`, timeoutMs: STATUS_MS_MAX },
      )
      return told ?? {}
    },
    untilStatus: async (id: unknown, status: string): Promise<Body> => {
      let last: Body = {}
      await until(
        async () => {
          last = (await app().api('GET', `/api/v1/invoices/${id}`)).body as Body
          return last.status === status
        },
        { what: `the invoice is ${status}`, timeoutMs: STATUS_MS_MAX },
      )
      return last
    },
    pay: (id: unknown, scenario: string) =>
      app().api('POST', `/api/v1/test/invoices/${id}/pay`, { scenario }),
  }
}
