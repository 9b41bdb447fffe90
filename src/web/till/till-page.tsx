import { raw } from 'hono/html'
import type { Takings, TillFacts } from '../../core/checkout/till.ts'
import { isoTime } from '../../core/iso-time.ts'
import { parseFiat } from '../../core/money.ts'
import { currencyDecimals } from '../../core/rates/currencies.ts'
import { fiat, utcTime } from '../checkout/amounts.ts'
import type { ShopPage } from '../checkout/checkout-page.ts'
import { documentOf } from '../checkout/document.tsx'
import { Icon } from '../checkout/icons.tsx'
import { SCRIPT, TILL_SCRIPT } from '../checkout/inline-files.ts'
import { fill, fillPlural } from '../checkout/language.ts'
import { logoPath } from '../checkout/logos.ts'
import { Languages, Shop } from '../checkout/shop.tsx'

/** All that a till's page is drawn from. */
export type TillPage = ShopPage & TillFacts & { readonly slug: string }

const LIMIT = { wrong: 'till_code_wrong', limited: 'till_code_limited' } as const

/** Asks for the staff code. */
export function renderSignIn(page: TillPage, fault: keyof typeof LIMIT | null): string {
  const { messages } = page.language
  return tillDocument(
    page,
    <main id="checkout">
      <div class="card">
        <Shop page={page} />
        <h1 class="sign-in">{page.linkName}</h1>
        <form method="post" action={`./${page.slug}${page.langQuery}`} class="till-code">
          <label for="code">{messages.till_code_label}</label>
          <input
            id="code"
            name="code"
            required
            inputmode="numeric"
            autocomplete="off"
            autofocus
            maxlength={12}
            aria-describedby={fault === null ? 'code-hint' : 'code-fault code-hint'}
          />
          <p id="code-hint">{messages.till_code_hint}</p>
          {fault !== null && (
            <p class="notice" id="code-fault" role="alert">
              <Icon name="alert" />
              <span>{messages[LIMIT[fault]]}</span>
            </p>
          )}
          <button type="submit" class="button" id="sign-in">
            {messages.till_sign_in}
          </button>
        </form>
      </div>
    </main>,
    <footer>
      <Languages page={page} />
    </footer>,
  )
}

const KEYS = ['1', '2', '3', 'back', '4', '5', '6', 'clear', '7', '8', '9', 'add', '00', '0'] as const
const SIGNS = { back: '⌫', clear: 'C', add: '+' } as const

/** The keypad, the items and the tips. All of it works by the script, which the sale needs anyway. */
export function renderTill(page: TillPage): string {
  const { language, till, slug, langQuery } = page
  const { messages } = language
  const decimals = currencyDecimals(till.currency)
  const percent = new Intl.NumberFormat(language.locale, { style: 'percent' })
  const names = { back: messages.till_delete, clear: messages.till_clear, add: messages.till_add }
  return tillDocument(
    page,
    <main
      id="till"
      data-currency={till.currency}
      data-decimals={String(decimals)}
      data-locale={language.direction === 'rtl' ? 'en' : language.locale}
      data-charge={messages.till_charge}
      data-other={messages.till_other}
      data-remove={messages.till_remove}
    >
      <header class="till-head">
        <h1>
          <bdi>{page.linkName}</bdi>
        </h1>
        <a class="button second" id="today" href={`./${slug}/today${langQuery}`}>
          {messages.till_today}
        </a>
      </header>
      <p class="till-sum">
        <output id="total" aria-label={messages.total} />
      </p>
      <ul class="till-lines" id="lines" aria-label={messages.till_items} />
      {till.items.length > 0 && (
        <section class="till-items" aria-label={messages.till_items}>
          {till.items.map(({ name, amount, picture }, at) => (
            <button
              type="button"
              data-item={String(at)}
              data-name={name}
              data-units={String(parseFiat(amount, decimals))}
            >
              {picture !== undefined && (
                <img src={logoPath(page.merchantId, picture)} width={56} height={56} loading="lazy" alt="" />
              )}
              <bdi>{name}</bdi>
              <small>{fiat(language, { amount, currency: till.currency })}</small>
            </button>
          ))}
        </section>
      )}
      <div class="till-pay">
        <fieldset class="till-keys" dir="ltr">
          <legend class="unseen">{messages.till_keypad}</legend>
          {KEYS.map((key) =>
            key === 'back' || key === 'clear' || key === 'add' ? (
              <button type="button" data-key={key} aria-label={names[key]}>
                {SIGNS[key]}
              </button>
            ) : (
              <button type="button" data-key={key}>
                {key}
              </button>
            ),
          )}
        </fieldset>
        {till.tips.length > 0 && (
          <fieldset class="till-tips">
            <legend>{messages.till_tip}</legend>
            {[0, ...till.tips].map((tip) => (
              <label>
                <input type="radio" name="tip" value={String(tip)} checked={tip === 0} />
                <span>{tip === 0 ? messages.till_no_tip : percent.format(tip / 100)}</span>
              </label>
            ))}
          </fieldset>
        )}
        <button type="button" class="button" id="charge" disabled>
          {messages.till_charge}
        </button>
      </div>
      <dialog id="sending" aria-labelledby="sending-text">
        <p
          id="sending-text"
          role="status"
          data-sending={messages.till_sending}
          data-offline={messages.till_offline}
          data-409={messages.till_changed}
          data-422={messages.till_refused}
          data-429={messages.till_limited}
          data-503={messages.till_unavailable}
        />
        <div class="links">
          <button type="button" class="button" id="retry" hidden>
            {messages.till_retry}
          </button>
          <button type="button" class="button second" id="discard" hidden>
            {messages.till_discard}
          </button>
        </div>
      </dialog>
    </main>,
    null,
  )
}

const STATUS = {
  paid: 'till_status_paid',
  overpaid: 'till_status_paid',
  payment_detected: 'till_status_coming',
  confirming: 'till_status_coming',
  awaiting_payment: 'till_status_waiting',
  partially_paid: 'till_status_part',
  manual_review: 'till_status_review',
} as const

/** What the till took, and its newest sales. */
export function renderTakings(
  page: TillPage,
  takings: Takings,
  tokenOf: (invoiceId: string) => string,
): string {
  const { language, till, slug, langQuery } = page
  const { messages } = language
  const { currency } = till
  const nameOf = (status: string) =>
    messages[Object.entries(STATUS).find(([known]) => known === status)?.[1] ?? 'till_status_unpaid']
  return tillDocument(
    page,
    <main id="takings">
      <header class="till-head">
        <h1>{messages.till_takings}</h1>
        <a class="button second" id="back" href={`../${slug}${langQuery}`}>
          {messages.till_back}
        </a>
      </header>
      <p class="till-sum">{fiat(language, { amount: takings.total, currency })}</p>
      <p class="till-count">
        {fillPlural(language, messages.till_sales, takings.count)}
        {till.tips.length > 0 && (
          <>
            {' · '}
            {messages.till_tip}: {fiat(language, { amount: takings.tips, currency })}
          </>
        )}
      </p>
      {takings.sales.length === 0 && <p class="till-count">{messages.till_none}</p>}
      <ul class="till-sales">
        {takings.sales.map(({ invoiceId, amount, status, createdAtMs }) => (
          <li>
            <a href={`./sale/${tokenOf(invoiceId)}${langQuery}`}>
              <time datetime={isoTime(createdAtMs)}>{utcTime(language, createdAtMs, 'time')}</time>
              <b>{fiat(language, { amount, currency })}</b>
              <span class={status === 'paid' || status === 'overpaid' ? 'good' : ''}>{nameOf(status)}</span>
            </a>
          </li>
        ))}
      </ul>
      <form method="post" action={`./sign-out${langQuery}`}>
        <button type="submit" class="button second" id="sign-out">
          {messages.till_sign_out}
        </button>
      </form>
    </main>,
    <footer>
      <Languages page={page} />
    </footer>,
  )
}

function tillDocument(page: TillPage, main: unknown, footer: unknown): string {
  const { language, branding, slug } = page
  const body = (
    <body data-till={slug} data-locale={language.locale}>
      {!page.livemode && <header class="banner">{language.messages.test_banner}</header>}
      {main}
      {footer}
      <script>{raw(SCRIPT)}</script>
      <script>{raw(TILL_SCRIPT)}</script>
    </body>
  )
  const title = fill(language.messages.title_state, { state: page.linkName, merchant: page.merchantName })
  return documentOf({ language, branding, title, body, reload: 'never', tillSlug: slug })
}
