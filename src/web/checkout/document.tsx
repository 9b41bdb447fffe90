import { raw } from 'hono/html'
import type { CheckoutState } from '../../core/checkout/checkout-state.ts'
import { ICON } from '../icon.ts'
import { TillSale } from '../till/till-sale.tsx'
import { AmountMain } from './amount-main.tsx'
import { type Branding, brandStyle, NO_BRANDING } from './branding.ts'
import { CheckoutMain } from './checkout-main.tsx'
import type { AmountPage, CheckoutPage, OpenPage } from './checkout-page.ts'
import { Icon, type IconName } from './icons.tsx'
import { SCRIPT, STYLE, STYLE_WITHOUT_SCRIPT, TILL_SCRIPT, TILL_STYLE } from './inline-files.ts'
import { fill, fillPlural, type Language } from './language.ts'
import { OpenMain, openQuery } from './open-main.tsx'
import { TITLE_NAME_MAX, titleOf } from './outcome-text.ts'
import { ReceiptMain } from './receipt-main.tsx'
import { Languages } from './shop.tsx'

const RELOAD_SECONDS = 15

/** States that will hardly change by themselves: in them a page without script does not reload. */
const RESTING: readonly CheckoutState[] = ['paid', 'overpaid', 'cancelled']

/** The page of one invoice, whole. */
export function renderCheckoutDocument(page: CheckoutPage, nowMs: number): string {
  const { language, view } = page
  const { messages } = language
  const reload = RESTING.includes(view.state) || page.isTyping ? 'never' : 'without_script'
  const body = (
    <body
      data-server-time={String(nowMs)}
      data-copied={messages.copied}
      data-warning-five={fillPlural(language, messages.warning_left, 5)}
      data-warning-one={fillPlural(language, messages.warning_left, 1)}
      data-locale={language.locale}
      {...(page.tillSlug === null ? {} : { 'data-sale': page.tillSlug })}
    >
      {!view.livemode && <header class="banner">{messages.test_banner}</header>}
      <p class="banner lost" id="lost" role="alert" hidden>
        {messages.offline}
      </p>
      {page.tillSlug !== null && <TillSale page={page} />}
      <CheckoutMain page={page} />
      <p class="unseen" id="announcer" role="status" />
      <footer>
        <span class="scripted">{messages.footer_live}</span>
        {reload === 'without_script' && <noscript>{messages.footer_reload}</noscript>}
        <Languages
          page={page}
          query={new URLSearchParams(page.method === null ? {} : { pay: page.method })}
        />
      </footer>
      <script>{raw(SCRIPT)}</script>
      {page.tillSlug !== null && <script>{raw(TILL_SCRIPT)}</script>}
    </body>
  )
  return documentOf({
    language,
    branding: page.branding,
    title: titleOf(page),
    body,
    reload,
    tillSlug: page.tillSlug,
  })
}

/** The page of a payment link or session before the buyer continues. */
export function renderOpenDocument(page: OpenPage, nowMs: number): string {
  return renderLinkDocument(page, openQuery(page), <OpenMain page={page} nowMs={nowMs} />)
}

/** The page of a payment link that asks the buyer for an amount. */
export function renderAmountDocument(page: AmountPage): string {
  return renderLinkDocument(page, new URLSearchParams(), <AmountMain page={page} />)
}

function renderLinkDocument(page: AmountPage, query: URLSearchParams, main: unknown): string {
  const { language, branding } = page
  const { messages } = language
  const body = (
    <body data-locale={language.locale}>
      {!page.livemode && <header class="banner">{messages.test_banner}</header>}
      {main}
      <footer>
        <Languages page={page} query={query} />
      </footer>
      <script>{raw(SCRIPT)}</script>
    </body>
  )
  const title = fill(messages.title_pay, { merchant: page.merchantName.slice(0, TITLE_NAME_MAX) })
  return documentOf({ language, branding, title, body, reload: 'never' })
}

/** The receipt of a paid invoice, to print or to keep. */
export function renderReceiptDocument(page: CheckoutPage): string {
  const { language, branding } = page
  const body = (
    <body data-locale={language.locale}>
      {!page.view.livemode && <header class="banner">{language.messages.test_banner}</header>}
      <ReceiptMain page={page} />
      <footer>
        <Languages page={page} />
      </footer>
      <script>{raw(SCRIPT)}</script>
    </body>
  )
  const state = language.messages.receipt_heading
  const merchant = page.merchantName.slice(0, TITLE_NAME_MAX)
  const title = fill(language.messages.title_state, { state, merchant })
  return documentOf({ language, branding, title, body, reload: 'never', tillSlug: page.tillSlug })
}

/** The changing part alone, for the script. */
export function renderCheckoutMain(page: CheckoutPage): string {
  return (<CheckoutMain page={page} />).toString()
}

type PlainText = {
  title: string
  lead: string
  icon: IconName
  reload: 'never' | 'always'
  /** The one button of its form, which is sent to the page's own URL. */
  action?: string
}

/** A page of plain words, for everything that is not an invoice's page. */
export function renderPlainDocument(language: Language, text: PlainText): string {
  const body = (
    <body>
      <main>
        <div class="card">
          <section class="outcome neutral">
            <span class="badge" aria-hidden="true">
              <Icon name={text.icon} />
            </span>
            <h1>{text.title}</h1>
            <p class="lead">{text.lead}</p>
          </section>
          {text.action !== undefined && (
            <form method="post">
              <button type="submit" class="button" id="action">
                {text.action}
              </button>
            </form>
          )}
        </div>
      </main>
    </body>
  )
  return documentOf({ language, branding: NO_BRANDING, title: text.title, body, reload: text.reload })
}

type DocumentParts = {
  language: Language
  branding: Branding
  title: string
  body: unknown
  reload: 'never' | 'without_script' | 'always'
  /** The content of `http-equiv="refresh"`, if it is not the usual reload. */
  refresh?: string | undefined
  /** Of a till's pages, the till. */
  tillSlug?: string | null
}

export function documentOf(parts: DocumentParts): string {
  const { language, branding, title, body, reload, tillSlug = null } = parts
  const refresh = <meta http-equiv="refresh" content={parts.refresh ?? String(RELOAD_SECONDS)} />
  const ownStyle = brandStyle(branding)
  const page = (
    <html lang={language.tag} dir={language.direction}>
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="robots" content="noindex, nofollow" />
        <meta name="color-scheme" content="light dark" />
        <title>{title}</title>
        <link rel="icon" href={ICON} />
        <style>{raw(STYLE)}</style>
        {tillSlug !== null && <style>{raw(TILL_STYLE)}</style>}
        {tillSlug !== null && <link rel="manifest" href={`/till/${tillSlug}/manifest.webmanifest`} />}
        {tillSlug !== null && <link rel="apple-touch-icon" href="/till/icon.png" />}
        {ownStyle !== '' && <style>{raw(ownStyle)}</style>}
        <noscript>
          <style>{raw(STYLE_WITHOUT_SCRIPT)}</style>
          {reload === 'without_script' && refresh}
        </noscript>
        {reload === 'always' && refresh}
      </head>
      {body}
    </html>
  )
  return `<!doctype html>${page.toString()}`
}
