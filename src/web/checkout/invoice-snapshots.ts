import { networkOf } from '../../core/assets.ts'
import type { CheckoutFacts } from '../../core/checkout/checkout-pages.ts'
import { checkoutView } from '../../core/checkout/checkout-state.ts'
import { networksBeside } from '../../core/invoice/advance.ts'
import type { Branding } from './branding.ts'
import type { CheckoutDeps } from './checkout-deps.ts'
import type { CheckoutPage } from './checkout-page.ts'
import { renderCheckoutMain } from './document.tsx'
import { ENGLISH, languageNamed } from './language.ts'
import { type FullSnapshot, LiveStreams } from './live-streams.ts'
import { titleOf } from './outcome-text.ts'
import type { PageLanguage } from './page-request.ts'

/** All that the page of a token is drawn from. `tillSlug` is that of the till at which it is shown. */
export type FoundCheckout = CheckoutFacts & { readonly token: string; readonly branding: Branding }

/**
 * What a token opens, with its shop's branding; null if it opens nothing. At a till only that till's sales are opened.
 */
export async function findCheckout(
  deps: CheckoutDeps,
  token: string,
  till?: string | undefined,
): Promise<FoundCheckout | null> {
  const found = await deps.readCheckout(token)
  if (found === null || (till !== undefined && found.tillSlug !== till)) return null
  return {
    ...found,
    tillSlug: till ?? null,
    token,
    branding: await deps.readBranding(found.invoice.merchantId),
  }
}

/** What the buyer pays for: what the shop said of the invoice, or the name of its payment link. */
export const itemOf = ({ invoice, linkName }: CheckoutFacts): string | null => invoice.description ?? linkName

export function pageOf(deps: CheckoutDeps, found: FoundCheckout, language: PageLanguage): CheckoutPage {
  const { invoice, merchantName, branding, token, otherCoins, reopenable, card, receipt } = found
  return {
    ...language,
    view: checkoutView(invoice, deps.clock().getTime(), found.networkFacts, card.waiting),
    item: itemOf(found),
    order: invoice.orderReference ?? invoice.externalReference,
    dollarsPerCurrency: deps.dollarsPerCurrency(invoice.livemode),
    isExplored: invoice.livemode && deps.staging !== true,
    invoiceId: invoice.id,
    returnUrl: invoice.returnUrl,
    merchantName,
    branding,
    tillSlug: found.tillSlug,
    token,
    url: `${deps.baseUrl}/i/${token}`,
    otherCoins,
    reopenable,
    watching: false,
    notice: null,
    sandbox: isPayable(deps, found),
    cardAsset: deps.card === undefined ? null : card.asset,
    receipt,
    isTyping: false,
    method: null,
  }
}

/** Whether a sandbox chain can pay the invoice. */
export function isPayable(deps: CheckoutDeps, { invoice }: CheckoutFacts): boolean {
  return deps.sandbox !== undefined && !invoice.livemode && deps.sandbox.serves(invoice.asset, false)
}

export function snapshotOf(deps: CheckoutDeps, page: CheckoutPage): FullSnapshot {
  const { view } = page
  return {
    version: view.version,
    state: view.state,
    title: titleOf(page),
    deadline: view.payable ? new Date(view.deadlineMs).toISOString() : null,
    server_time: deps.clock().toISOString(),
    html: renderCheckoutMain(page),
  }
}

/** The open pages, each in its own language; an invoice is read once for all of them. */
export function liveStreamsOf(deps: CheckoutDeps): LiveStreams {
  return new LiveStreams({
    read: async (token, languages) => {
      const found = await findCheckout(deps, token)
      if (found === null) return null
      const pages = languages.map((tag) => {
        const language = languageNamed(tag) ?? ENGLISH
        return [tag, pageOf(deps, found, { language, langQuery: `?lang=${language.tag}` })] as const
      })
      const { invoice } = found
      const counts = pages.some(([, page]) => page.view.progress !== null)
      return {
        byLanguage: new Map(pages.map(([tag, page]) => [tag, snapshotOf(deps, page)])),
        movesWith: counts ? [networkOf(invoice.asset, invoice.livemode), ...networksBeside(invoice)] : [],
      }
    },
    onError: (error) => deps.log.error({ err: error }, 'an open checkout page could not be refreshed'),
  })
}
