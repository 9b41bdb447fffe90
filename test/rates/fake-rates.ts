import { createServer } from 'node:http'
import { CURRENCIES, ROUND_DOLLARS } from '../../src/core/rates/currencies.ts'

/** What the two sources of currency rates answer, in the form that each documents. */
export type RateAnswers = { coinbase: string; ecb: string }

export type FakeRates = {
  /** For `CURRENCY_COINBASE_URL` and `CURRENCY_ECB_URL` alike. */
  readonly url: string
  /** Paths asked for. */
  readonly requests: string[]
  /** What is answered from now on; an empty text is an error of the server. */
  answers: RateAnswers
  close(): Promise<void>
}

const DOLLARS_PER_EURO = Number(ROUND_DOLLARS.EUR)

/** Coinbase App API, "Get Exchange Rates", with the rates of test mode and coins among them. */
export function coinbaseRates(changes: { readonly [currency: string]: string } = {}): string {
  const rates = Object.fromEntries(
    CURRENCIES.map((currency) => [currency, (1 / Number(ROUND_DOLLARS[currency])).toFixed(6)]),
  )
  return JSON.stringify({
    data: { currency: 'USD', rates: { BTC: '0.0000103', USD: '1.0', ...rates, ...changes } },
  })
}

/** The file that the European Central Bank publishes on each working day. */
export function ecbRates(day: string, changes: { readonly [currency: string]: string } = {}): string {
  const rates = Object.fromEntries(
    CURRENCIES.filter((currency) => currency !== 'EUR').map((currency) => [
      currency,
      (DOLLARS_PER_EURO / Number(ROUND_DOLLARS[currency])).toFixed(5),
    ]),
  )
  const entries = Object.entries({ USD: String(DOLLARS_PER_EURO), ...rates, ...changes })
    .map(([currency, rate]) => `\t\t\t<Cube currency='${currency}' rate='${rate}'/>`)
    .join('\n')
  return `<?xml version="1.0" encoding="UTF-8"?>
<gesmes:Envelope xmlns:gesmes="http://www.gesmes.org/xml/2002-08-01" xmlns="http://www.ecb.int/vocabulary/2002-08-01/eurofxref">
\t<gesmes:subject>Reference rates</gesmes:subject>
\t<Cube>
\t\t<Cube time='${day}'>
${entries}
\t\t</Cube>
\t</Cube>
</gesmes:Envelope>`
}

export async function startFakeRates(answers: RateAnswers): Promise<FakeRates> {
  const server = createServer((request, response) => {
    const path = request.url ?? ''
    fake.requests.push(path)
    const text = path.startsWith('/v2/') ? fake.answers.coinbase : fake.answers.ecb
    response.writeHead(text === '' ? 500 : 200).end(text)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  const fake: FakeRates = {
    url: `http://127.0.0.1:${address.port}`,
    requests: [],
    answers,
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return fake
}
