import { startHttpServer } from '../../src/http/server.ts'
import { openCheckout } from '../../src/roles/checkout.ts'
import type { TestApi } from './api.ts'
import { freePort } from './free-port.ts'

/** The buyers' pages as the program serves them: the checkout role's parts behind its own HTTP server. */
export async function startBuyersSite(
  api: TestApi,
  changes: Partial<Parameters<typeof openCheckout>[0]> = {},
): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const { log } = api.deps
  const checkout = openCheckout({
    ...api.deps,
    currencyRates: { ...api.deps.currencyRates, dollarsPerCurrency: () => new Map() },
    listenUrl: api.database.urls.api,
    sandbox: null,
    ...changes,
  })
  const port = await freePort()
  const server = await startHttpServer({ host: '127.0.0.1', port, parts: checkout.parts, log })
  return {
    url: `http://127.0.0.1:${port}`,
    stop: async () => {
      await server.stop(checkout.endStreams)
      await checkout.stop()
    },
  }
}
