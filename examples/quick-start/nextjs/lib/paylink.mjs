import { Paylink } from 'paylink-sdk'

let client

/** Made at the first request: `next build` loads the routes too, where there need be no key. */
export function paylink() {
  client ??= new Paylink({ baseUrl: process.env.PAYLINK_URL, apiKey: process.env.PAYLINK_API_KEY })
  return client
}
