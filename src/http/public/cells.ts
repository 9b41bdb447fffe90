import { CELL_HEADER, cellOfTag, cellTag, readCell } from '../../core/cells.ts'
import { SLUG_PATTERN } from '../../core/checkout/payment-link.ts'
import { parseId } from '../../core/ids.ts'
import { cellOfInvoiceToken } from '../../secrets/checkout-token.ts'
import { cellOfUnsubscribeToken } from '../../secrets/unsubscribe-token.ts'
import type { HttpPart } from '../server.ts'

/** By which the proxy knows a browser's cell: it is no secret and opens nothing. */
const CELL_COOKIE = 'paylink_cell'
const YEAR_SECONDS = 31_536_000

const LINK_PATH = /^\/(?:l|till)\/([^/]+)/
const INVOICE_PATH = /^\/i\/([^/]+)/
const UNSUBSCRIBE_PATH = /^\/u\/([^/]+)/
/** A link into the dashboard of one cell. Nothing else of the site is led to, and no other site. */
const CELL_PATH = /^\/cells\/([0-9a-z]{2})(\/dashboard(?:\/.*)?)$/

/**
 * What is not of this cell: buyers' pages of another one, with 421 (RFC 9110 §15.5.20), and links into the dashboard of
 * this one, which set the cookie that the proxy routes by. What a path says decides; nothing is looked up, so that no
 * answer says whether anything exists.
 */
export function createCellPart(ownCell: number): HttpPart {
  return {
    name: 'cells',
    owns: (path) => {
      const cell = cellOfPath(path)
      return cell !== null && (cell !== ownCell || CELL_PATH.test(path))
    },
    fetch: (request) => {
      const { pathname, search } = new URL(request.url)
      const cell = cellOfPath(pathname) ?? ownCell
      if (cell !== ownCell) return misdirected(cell)
      const cookie = `${CELL_COOKIE}=${cellTag(ownCell)}; Path=/; Max-Age=${YEAR_SECONDS}; SameSite=Lax; HttpOnly`
      const location = `${CELL_PATH.exec(pathname)?.[2] ?? '/dashboard'}${search}`
      return new Response(null, {
        status: 303,
        headers: { location, 'set-cookie': cookie, 'cache-control': 'no-store' },
      })
    },
  }
}

const misdirected = (cell: number): Response =>
  new Response('This page is on another server of the same service. Open its link again in a minute.\n', {
    status: 421,
    headers: {
      'content-type': 'text/plain; charset=utf-8',
      'cache-control': 'no-store',
      [CELL_HEADER]: cellTag(cell),
    },
  })

/** The cell of what a path names; null where it names nothing of any cell. */
function cellOfPath(path: string): number | null {
  const link = SLUG_PATTERN.exec(LINK_PATH.exec(path)?.[1] ?? '')
  if (link !== null) return cellOfTag(link[1])
  const cell = CELL_PATH.exec(path)?.[1]
  if (cell !== undefined) return cell === cellTag(0) ? 0 : cellOfTag(cell)
  const invoice = INVOICE_PATH.exec(path)?.[1]
  if (invoice !== undefined) {
    const uuid = parseId('invoice', invoice)
    return uuid === null ? cellOfInvoiceToken(invoice) : readCell(uuid)
  }
  return cellOfUnsubscribeToken(UNSUBSCRIBE_PATH.exec(path)?.[1] ?? '')
}
