import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createMerchantSlots } from './merchant-slots.ts'
import { createReadSession } from './session-credential.ts'

const TURNS = 8

/** How many sign-ins are looked up at once when these cookies come together. */
async function mostAtOnce(cookies: readonly string[]): Promise<number> {
  let [running, most] = [0, 0]
  const readSession = createReadSession({
    pool: {} as never,
    seals: {} as never,
    baseUrl: 'http://localhost:3000',
    slots: createMerchantSlots(),
    findSignIn: async () => {
      running += 1
      most = Math.max(most, running)
      await setImmediate()
      running -= 1
      return null
    },
  })
  const requests = cookies.map((cookie) => new Request('http://localhost:3000/', { headers: { cookie } }))
  expect(await Promise.all(requests.map(readSession))).toEqual(requests.map(() => null))
  return most
}

const many = (cookieOf: (number: number) => string): string[] =>
  Array.from({ length: 40 }, (_, at) => cookieOf(at))

test('the requests of one sign-in take turns, whatever cookies come beside it', async () => {
  const own = 'paylink.session_token=token.signature'
  expect(await mostAtOnce(many(() => own))).toBe(TURNS)
  expect(await mostAtOnce(many((at) => `a=${at}; ${own}`))).toBe(TURNS)
  expect(await mostAtOnce(many((at) => `${own}; paylink.session_token=${at}.other`))).toBe(TURNS)
  expect(await mostAtOnce(many((at) => `${own}${at}`))).toBe(TURNS)
  expect(await mostAtOnce(many((at) => ` x${at}.session_token=1 ;\t${own} `))).toBe(TURNS)
})

test('sign-ins wait for nobody else, and without a cookie nothing is looked up', async () => {
  expect(await mostAtOnce(many((at) => `paylink.session_token=${at}.signature`))).toBe(40)
  expect(await mostAtOnce(many((at) => `other=${at}`))).toBe(0)
})
