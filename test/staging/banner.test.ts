import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { STAGING_HEADER, STAGING_NOTICE } from '../../src/core/staging.ts'
import { type HttpPart, startHttpServer } from '../../src/http/server.ts'
import { createLogger } from '../../src/runtime/log.ts'
import { freePort } from '../support/free-port.ts'

const PAGE = '<!doctype html><html><body data-locale="en"><main>Pay</main></body></html>'
const BANNER = `<p class="banner staging" role="note" lang="en" dir="ltr">${STAGING_NOTICE}</p>`
const log = createLogger('silent')

/** A part that compresses its page for whoever takes it, as the dashboard does. */
const part: HttpPart = {
  name: 'pages',
  owns: () => true,
  fetch: (request) => {
    if (new URL(request.url).pathname === '/data') return Response.json({ page: PAGE })
    const headers = { 'content-type': 'text/html; charset=utf-8' }
    if (request.headers.get('accept-encoding')?.includes('gzip') !== true)
      return new Response(PAGE, { headers })
    return new Response(gzipSync(PAGE), { headers: { ...headers, 'content-encoding': 'gzip' } })
  },
}

async function answers(staging: boolean) {
  const port = await freePort()
  const server = await startHttpServer({ host: '127.0.0.1', port, parts: [part], log, staging })
  try {
    const ask = async (path: string, method = 'GET') => {
      const headers = { 'accept-encoding': 'gzip, br' }
      const answer = await fetch(`http://127.0.0.1:${port}${path}`, { method, headers })
      return { text: await answer.text(), header: answer.headers.get(STAGING_HEADER) }
    }
    return { page: await ask('/page'), data: await ask('/data'), head: await ask('/page', 'HEAD') }
  } finally {
    await server.stop(() => {})
  }
}

test('in staging every page begins with the banner, and every response has the header', async () => {
  const { page, data, head } = await answers(true)
  expect(page).toEqual({
    text: PAGE.replace('<main>', `${BANNER}<main>`),
    header: 'true',
  })
  expect(data).toEqual({ text: JSON.stringify({ page: PAGE }), header: 'true' })
  expect(head).toEqual({ text: '', header: 'true' })
})

test('elsewhere no page has the banner, and no response the header', async () => {
  const { page, data, head } = await answers(false)
  expect(page).toEqual({ text: PAGE, header: null })
  expect(data).toEqual({ text: JSON.stringify({ page: PAGE }), header: null })
  expect(head).toEqual({ text: '', header: null })
})
