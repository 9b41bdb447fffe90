import { CARD_PROVIDER_NAMES, type CardProviderId } from '../../core/card/onramp-provider.ts'
import { TEST_CARD_OUTCOMES, TEST_CARDS } from '../../core/card/test-cards.ts'
import { coin, fiat } from './amounts.ts'
import type { CheckoutPage, TestCardPage } from './checkout-page.ts'
import { Icon } from './icons.tsx'
import { fill } from './language.ts'
import { NoticeBox, Shop } from './shop.tsx'

/**
 * Shown between our page and the provider's, to which it goes on by itself. A redirect in answer to our form would be
 * bound by the `form-action` policy, and so would every redirect that the provider makes.
 */
export function LeaveMain(props: { page: CheckoutPage; provider: CardProviderId; url: string }) {
  const { page, url } = props
  const provider = CARD_PROVIDER_NAMES[props.provider]
  const { messages } = page.language
  return (
    <main id="checkout">
      <div class="card">
        <Shop page={page} />
        <section class="outcome waiting">
          <span class="badge" aria-hidden="true">
            <Icon name="card" />
          </span>
          <h1 id="heading">{fill(messages.card_leaving, { provider })}</h1>
          <p class="links">
            <a class="button" id="card-go" href={url}>
              {fill(messages.card_leave, { provider })}
            </a>
          </p>
        </section>
      </div>
    </main>
  )
}

/** The sandbox's own card page, instead of a provider's. */
export function TestCardMain({ page }: { page: TestCardPage }) {
  const { language, purchase } = page
  const { messages } = language
  const total =
    purchase.answer?.kind === 'offered' && purchase.answer.quote !== null
      ? fiat(language, purchase.answer.quote.total)
      : coin(purchase.asset, purchase.amount)
  return (
    <main id="checkout">
      <div class="card">
        <Shop
          page={{
            ...page,
            merchantName: CARD_PROVIDER_NAMES.sandbox,
            branding: { ...page.branding, logo: null },
          }}
        />
        <section class="open">
          <h1 id="heading">{messages.sandbox_card_heading}</h1>
          <p class="lead">{messages.sandbox_card_lead}</p>
          <NoticeBox page={page} />
          {page.notice === 'sandbox_failed' && (
            <p class="notice" role="alert">
              <Icon name="alert" />
              <span>{messages.sandbox_failed}</span>
            </p>
          )}
          <form method="post" action={`./test${page.langQuery}`} id="test-card-form">
            <input type="hidden" name="purchase" value={purchase.id} />
            <label class="input" for="number">
              <span>{messages.sandbox_card_number}</span>
              <input
                id="number"
                name="number"
                inputmode="numeric"
                autocomplete="off"
                required
                maxlength={23}
                dir="ltr"
                value={grouped(TEST_CARDS.approved)}
              />
            </label>
            <button type="submit" class="button" id="test-card-pay">
              {fill(messages.sandbox_card_pay, { total })}
            </button>
          </form>
          <h2>{messages.sandbox_card_numbers}</h2>
          <dl class="receipt">
            {TEST_CARD_OUTCOMES.map((outcome) => (
              <div>
                <dt>
                  <bdi dir="ltr">{grouped(TEST_CARDS[outcome])}</bdi>
                </dt>
                <dd>{messages[`sandbox_card_${outcome}`]}</dd>
              </div>
            ))}
          </dl>
        </section>
      </div>
    </main>
  )
}

/** In groups of four digits, as on a card. */
const grouped = (number: string): string => number.replace(/(.{4})(?=.)/g, '$1 ')
