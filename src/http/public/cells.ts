import { Busy } from '../../core/busy.ts'
import { cellCookie, cellOfTag, cellTag, readCell } from '../../core/cells.ts'
import { SLUG_PATTERN } from '../../core/checkout/payment-link.ts'
import { parseId } from '../../core/ids.ts'
import { merchantAway } from '../../core/merchant-away.ts'
import { isDatabaseAway } from '../../postgres/database-away.ts'
import { cellOfInvoiceToken } from '../../secrets/checkout-token.ts'
import { cellOfUnsubscribeToken } from '../../secrets/unsubscribe-token.ts'
import { misdirected } from '../../web/misdirected.ts'
import type { HttpPart } from '../server.ts'

const LINK_PATH = /^\/(?:l|till)\/([^/]+)/
const INVOICE_PATH = /^\/i\/([^/]+)/
const UNSUBSCRIBE_PATH = /^\/u\/([^/]+)/
/** A link into the dashboard of one cell. Nothing else of the site is led to, and no other site. */
const CELL_PATH = /^\/cells\/([0-9a-z]{2})(\/dashboard(?:\/.*)?)$/

type CellDeps = {
  /** Whether a link made in another cell is here, since its merchant has moved. */
  readonly holdsLink: (slug: string) => Promise<boolean>
  /** The rest of the site. */
  readonly parts: readonly HttpPart[]
}

/**
 * What is not of this cell: buyers' pages of another one, with 421, and links into the dashboard of this one, which set
 * the cookie that the proxy routes by. What a path says decides, but for links of merchants who moved here; no answer
 * says whether anything exists elsewhere.
 */
export function createCellPart(ownCell: number, deps: CellDeps): HttpPart {
  return {
    name: 'cells',
    owns: (path) => {
      const cell = cellOfPath(path)
      return cell !== null && (cell !== ownCell || CELL_PATH.test(path))
    },
    fetch: async (request) => {
      const { pathname, search } = new URL(request.url)
      const cell = cellOfPath(pathname) ?? ownCell
      if (cell !== ownCell) return answerElsewhere(deps, request, cell)
      // The dashboard then signs in here, where else an address may be known.
      const here = `${search === '' ? '?' : `${search}&`}here=1`
      const location = `${CELL_PATH.exec(pathname)?.[2] ?? '/dashboard'}${here}`
      return new Response(null, {
        status: 303,
        headers: { location, 'set-cookie': cellCookie(ownCell), 'cache-control': 'no-store' },
      })
    },
  }
}

async function answerElsewhere(
  { holdsLink, parts }: CellDeps,
  request: Request,
  cell: number,
): Promise<Response> {
  const { pathname } = new URL(request.url)
  const slug = LINK_PATH.exec(pathname)?.[1]
  try {
    if (slug === undefined || !(await holdsLink(slug))) return misdirected(cell)
  } catch (error) {
    const away = merchantAway(error)
    if (away?.kind === 'moved') return misdirected(away.cell)
    if (error instanceof Busy || (error instanceof Error && isDatabaseAway(error)))
      return new Response('Try again in a minute.\n', { status: 503 })
    throw error
  }
  const part = parts.find(({ name, owns }) => name !== 'cells' && owns(pathname))
  return (await part?.fetch(request)) ?? misdirected(cell)
}

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
