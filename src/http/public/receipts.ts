import { Busy } from '../../core/busy.ts'
import { type ReadReceiptDeps, readReceipt } from '../../flows/read-receipt.ts'
import type { Log } from '../../runtime/log.ts'
import type { InTurn } from '../../runtime/slots.ts'
import { openReceiptKey } from '../../secrets/receipt-key.ts'
import { jsonResponse } from '../json-response.ts'
import type { HttpPart } from '../server.ts'

/** Path of the public keys that receipts are verified with. */
export const RECEIPT_KEYS_PATH = '/.well-known/paylink-receipts.json'
const RECEIPT_PATH = /^\/i\/([^/]+)\/receipt\.json$/
const KEYS_CACHE_SECONDS = 3_600

/**
 * Signed receipts of paid invoices, for whoever holds the checkout URL, and the public key to verify them with. A
 * token that opens nothing and an unpaid invoice are answered alike.
 */
export function createReceiptPart(
  deps: ReadReceiptDeps & { readonly log: Log; readonly inTurn?: InTurn },
): HttpPart {
  const { inTurn = (read) => read() } = deps
  const key = openReceiptKey(deps.keyring)
  const keys = JSON.stringify({ keys: [key.publicKey] })
  const answer = async (path: string): Promise<Response> => {
    if (path === RECEIPT_KEYS_PATH) {
      const headers = { 'access-control-allow-origin': '*' }
      return jsonResponse(200, keys, { ...headers, 'cache-control': `public, max-age=${KEYS_CACHE_SECONDS}` })
    }
    const receipt = await inTurn(() => readReceipt(deps, RECEIPT_PATH.exec(path)?.[1] ?? ''))
    if (receipt === null) return jsonResponse(404, { error: 'not_found' })
    const kind = receipt.livemode ? 'receipt' : 'TEST-receipt'
    const name = `attachment; filename="${kind}-${receipt.invoice_id}.json"`
    const body = `${JSON.stringify(key.sign(receipt), null, 2)}\n`
    return jsonResponse(200, body, { 'content-disposition': name })
  }
  return {
    name: 'receipts',
    owns: (path) => path === RECEIPT_KEYS_PATH || RECEIPT_PATH.test(path),
    fetch: async (request) => {
      if (request.method !== 'GET' && request.method !== 'HEAD')
        return jsonResponse(405, { error: 'method_not_allowed' }, { allow: 'GET, HEAD' })
      try {
        return await answer(new URL(request.url).pathname)
      } catch (error) {
        if (!(error instanceof Busy)) deps.log.error({ err: error }, 'a receipt could not be made')
        return jsonResponse(503, { error: 'service_unavailable' }, { 'retry-after': '1' })
      }
    },
  }
}
