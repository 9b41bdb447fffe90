import { raw } from 'hono/html'
import { CARD_PROVIDER_NAMES, type CardProviderId } from '../../core/card/onramp-provider.ts'
import { LeaveMain, TestCardMain } from './card-leave.tsx'
import { CardMain } from './card-main.tsx'
import type { CardPage, CheckoutPage, TestCardPage } from './checkout-page.ts'
import { documentOf } from './document.tsx'
import { SCRIPT } from './inline-files.ts'
import { fill } from './language.ts'
import { Languages } from './shop.tsx'
import { TITLE_NAME_MAX } from './words.ts'

/** While a provider is being asked by an earlier press, its answer is a moment away. */
const ASKING_RELOAD_SECONDS = 2

/** The providers' offers. While one is still being asked the page looks again by itself. */
export function renderCardDocument(page: CardPage, isAsking: boolean): string {
  const { messages } = page.language
  return shopDocument(page, {
    state: messages.card_action,
    main: <CardMain page={page} />,
    ...(isAsking ? { refresh: String(ASKING_RELOAD_SECONDS) } : {}),
  })
}

/** On the way to a provider's page. */
export function renderLeaveDocument(page: CheckoutPage, provider: CardProviderId, url: string): string {
  const name = CARD_PROVIDER_NAMES[provider]
  return shopDocument(page, {
    state: fill(page.language.messages.card_leaving, { provider: name }),
    main: <LeaveMain page={page} provider={provider} url={url} />,
    refresh: `0;url=${url}`,
    isPassing: true,
  })
}

/** The sandbox's card page. */
export function renderTestCardDocument(page: TestCardPage): string {
  const { messages } = page.language
  return shopDocument(page, { state: messages.sandbox_card_heading, main: <TestCardMain page={page} /> })
}

function shopDocument(
  page: CheckoutPage,
  parts: { state: string; main: unknown; refresh?: string; isPassing?: boolean },
): string {
  const { language, branding, merchantName } = page
  const { messages } = language
  const body = (
    <body data-locale={language.locale}>
      {!page.view.livemode && <p class="banner">{messages.test_banner}</p>}
      {parts.main}
      {parts.isPassing !== true && (
        <footer>
          <Languages page={page} query={purchaseQuery(page)} />
        </footer>
      )}
      <script>{raw(SCRIPT)}</script>
    </body>
  )
  const merchant = merchantName.slice(0, TITLE_NAME_MAX)
  const title = fill(messages.title_state, { state: parts.state, merchant })
  const { refresh } = parts
  return documentOf({
    language,
    branding,
    title,
    body,
    reload: refresh === undefined ? 'never' : 'always',
    refresh,
  })
}

/** The query that keeps the sandbox's card page on its purchase when the language is changed. */
const purchaseQuery = (page: CheckoutPage | TestCardPage): URLSearchParams =>
  new URLSearchParams('purchase' in page ? { purchase: page.purchase.id } : {})
