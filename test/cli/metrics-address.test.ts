import { expect, test } from 'vitest'
import { makePlace, startApp } from '../support/app.ts'

/** Another address of this machine than the one that metrics are served on. */
const OTHER = '127.0.0.2'

test('metrics are served on 127.0.0.1 alone where the site is served on every address', async () => {
  const place = await makePlace()
  const app = await startApp({ ...place, env: { HOST: '0.0.0.0' } })
  const at = (url: string) => url.replace('127.0.0.1', OTHER)
  expect((await fetch(`${at(app.baseUrl)}/healthz`)).status).toBe(200)
  expect((await fetch(`${app.operatorUrl}/metrics`)).status).toBe(200)
  await expect(fetch(`${at(app.operatorUrl)}/metrics`)).rejects.toThrow('fetch failed')
  expect(app.stdout()).toContain(`${app.operatorUrl}/metrics`)
  expect(await app.stop()).toBe(0)
  await place.remove()
})
