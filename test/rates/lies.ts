import { type Behaviour, honestPrice, sendJson } from './fake-exchange.ts'

export const timesThousand = (price: string) => String(Number(price) * 1000)
/** A dollar coin turned over is a dollar coin, so that one is turned into nothing. */
export const turnedOver = (price: string) => (Number(price) < 1 ? '0' : (1 / Number(price)).toFixed(12))
/** Every way in which an exchange that answers can be wrong. */
export const lies: { readonly [what: string]: Behaviour } = {
  'times a thousand': { price: (market) => timesThousand(honestPrice(market)) },
  'turned over': { price: (market) => turnedOver(honestPrice(market)) },
  'three per cent off': { price: (market) => (Number(honestPrice(market)) * 1.03).toFixed(6) },
  NaN: { price: () => 'NaN' },
  zero: { price: () => '0.00' },
  negative: { price: (market) => `-${honestPrice(market)}` },
  'an exponent': { price: () => '9.7e4' },
  empty: { price: () => '' },
  'another coin': { price: (market) => honestPrice(/LTC/i.test(market) ? 'BTC' : 'LTC') },
  'an HTML error page': {
    respond: (_, response) =>
      response.writeHead(200, { 'content-type': 'text/html' }).end('<html><h1>Sorry</h1></html>'),
  },
  'status 500': { respond: (_, response) => sendJson(response, 500, { message: 'broken' }) },
  'status 429': { respond: (_, response) => sendJson(response, 429, { message: 'slow down' }) },
  'a redirect to itself': {
    respond: (request, response) => response.writeHead(302, { location: request.url ?? '/' }).end(),
  },
  'truncated JSON': { respond: (_, response) => response.writeHead(200).end('{"price":"97000.50","ti') },
  'null instead of an object': { respond: (_, response) => sendJson(response, 200, null) },
  'a number instead of a string': {
    respond: (_, response) =>
      sendJson(response, 200, {
        price: 97000.5,
        last: 97000.5,
        time: '2026-03-01T12:00:00Z',
        timestamp: '1772366400',
      }),
  },
  'a huge body': {
    respond: (_, response) => response.writeHead(200).end(`{"pad":"${'x'.repeat(1_000_000)}"}`),
  },
  'an endless body': {
    respond: (_, response) => {
      response.writeHead(200)
      const more = () => {
        if (!response.destroyed && response.write('x'.repeat(65_536))) setImmediate(more)
        else response.once('drain', more)
      }
      more()
    },
  },
  silence: { respond: () => {} },
  'a body that drips': {
    respond: (_, response) => {
      response.writeHead(200)
      const timer = setInterval(() => response.write(' '), 20)
      response.once('close', () => clearInterval(timer))
    },
  },
  'a connection cut short': { respond: (request) => request.socket.destroy() },
}
