import { type Context, Hono } from 'hono'
import { ID_PATTERN } from '../../core/ids.ts'

export type CheckoutLookup = {
  /** The buyer's page of an invoice that was created through this translation; null for any other. */
  checkoutUrlOf(merchantId: string, invoiceId: string): Promise<string | null>
  /** False where the caller of these headers was led to too many just now. */
  mayFollow(headers: Headers): boolean
}

/** The Location has a secret in it. */
const SECRET = { 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' }

/**
 * The pages to which plugins lead buyers by an invoice's id alone. As with BTCPay, whoever knows the id may open the
 * invoice's page, so only invoices of the translation are found.
 */
export function createBuyerRedirects(deps: CheckoutLookup): Hono {
  const app = new Hono()
  const lead = async (c: Context, invoiceId: string): Promise<Response> => {
    const merchantId = c.req.param('shop') ?? ''
    const isId = ID_PATTERN.test(merchantId) && ID_PATTERN.test(invoiceId)
    if (isId && !deps.mayFollow(c.req.raw.headers)) {
      const headers = { ...SECRET, 'retry-after': '1' }
      return new Response('Too many requests. Try again in a moment.', { status: 429, headers })
    }
    const url = isId ? await deps.checkoutUrlOf(merchantId, invoiceId) : null
    if (url === null) return new Response('There is no such invoice.', { status: 404, headers: SECRET })
    return new Response(null, { status: 302, headers: { ...SECRET, location: url } })
  }
  app.get('/i/:id', (c) => lead(c, c.req.param('id')))
  app.get('/invoice', (c) => lead(c, c.req.query('id') ?? ''))
  app.get('/modal/btcpay.js', () => {
    const headers = { 'content-type': 'text/javascript; charset=utf-8', 'x-content-type-options': 'nosniff' }
    return new Response(MODAL_SCRIPT, { headers })
  })
  return app
}

/**
 * `window.btcpay`, as plugins' checkouts use it. The buyer's page refuses to be framed, so that no other page can lay
 * itself over an address: the browser goes there, and the page's button leads back to the shop.
 */
const MODAL_SCRIPT = `(function () {
  if (window.btcpay) return;
  var shop = document.currentScript.src.replace(/\\/modal\\/btcpay\\.js.*$/, '');
  var onEnter = function () {};
  var none = function () {};
  window.btcpay = {
    setApiUrlPrefix: function (url) { shop = url.replace(/\\/+$/, ''); },
    onModalWillEnter: function (callback) { onEnter = callback; },
    showInvoice: function (id) {
      onEnter();
      window.location.assign(shop + '/i/' + encodeURIComponent(id));
    },
    onModalWillLeave: none,
    onModalReceiveMessage: none,
    showFrame: none,
    hideFrame: none
  };
})();
`
