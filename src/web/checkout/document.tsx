import { raw } from 'hono/html'
import type { CheckoutState } from '../../core/checkout/checkout-state.ts'
import { CheckoutMain } from './checkout-main.tsx'
import type { CheckoutPage } from './checkout-page.ts'
import { Icon, type IconName } from './icons.tsx'
import type { Language } from './language.ts'
import { SCRIPT } from './script.ts'
import { STYLE, STYLE_WITHOUT_SCRIPT } from './styles.ts'
import { titleOf } from './words.ts'

const RELOAD_SECONDS = 15
const ICON =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'%3E%3Crect width='32' height='32' rx='8' fill='%232b50d8'/%3E%3Cpath d='M9 17l5 5 10-11' fill='none' stroke='%23fff' stroke-width='3.5' stroke-linecap='round' stroke-linejoin='round'/%3E%3C/svg%3E"

/** Nothing more will happen to these by themselves soon: a page without script rests. */
const RESTING: readonly CheckoutState[] = ['paid', 'overpaid', 'cancelled']

/** The page of one invoice, whole. */
export function renderCheckoutDocument(page: CheckoutPage, nowMs: number): string {
  const { language, view } = page
  const { messages } = language
  const reload = RESTING.includes(view.state) ? 'never' : 'without_script'
  const body = (
    <body
      data-server-time={String(nowMs)}
      data-copied={messages.copied}
      data-warning-five={messages.warning_five}
      data-warning-one={messages.warning_one}
    >
      {!view.livemode && <p class="banner">{messages.test_banner}</p>}
      <p class="banner lost" id="lost" role="alert" hidden>
        {messages.offline}
      </p>
      <CheckoutMain page={page} />
      <p class="unseen" id="announcer" role="status" />
      <footer>
        <span class="scripted">{messages.footer_live}</span>
        {reload === 'without_script' && <noscript>{messages.footer_reload}</noscript>}
      </footer>
      <script>{raw(SCRIPT)}</script>
    </body>
  )
  return documentOf({ language, title: titleOf(page), body, reload })
}

/** The changing part alone, for the script. */
export function renderCheckoutMain(page: CheckoutPage): string {
  return (<CheckoutMain page={page} />).toString()
}

/** A page of plain words, for everything that is not an invoice's page. */
export function renderPlainDocument(
  language: Language,
  words: { title: string; lead: string; icon: IconName; reload: 'never' | 'always' },
): string {
  const body = (
    <body>
      <main>
        <div class="card">
          <section class="outcome neutral">
            <span class="badge" aria-hidden="true">
              <Icon name={words.icon} />
            </span>
            <h1>{words.title}</h1>
            <p class="lead">{words.lead}</p>
          </section>
        </div>
      </main>
    </body>
  )
  return documentOf({ language, title: words.title, body, reload: words.reload })
}

type DocumentParts = {
  language: Language
  title: string
  body: unknown
  reload: 'never' | 'without_script' | 'always'
}

function documentOf({ language, title, body, reload }: DocumentParts): string {
  const refresh = <meta http-equiv="refresh" content={String(RELOAD_SECONDS)} />
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
