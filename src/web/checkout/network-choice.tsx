import { ASSET_IDS, ASSETS } from '../../core/assets.ts'
import type { CheckoutPage } from './checkout-page.ts'
import { Icon } from './icons.tsx'
import { fill } from './language.ts'
import { payableNetworks } from './network-names.ts'
import { formQuery } from './page-request.ts'

/** Which of its networks the payment link, the QR code and the wallet button name: the money counts on all of them. */
export function NetworkChoice({ page }: { page: CheckoutPage }) {
  const { view, token, language } = page
  if (view.alsoAccepts.length === 0) return null
  const assets = ASSET_IDS.filter((asset) => asset === view.asset || view.alsoAccepts.includes(asset))
  return (
    <form method="post" action={`./${token}${formQuery(page, 'switch')}`} id="networks">
      <fieldset>
        <legend>{language.messages.network_choice}</legend>
        <div class="methods">
          {assets.map((asset) => (
            <button
              type="submit"
              name="asset"
              value={asset}
              {...(asset === view.asset ? { 'aria-current': 'true' } : {})}
            >
              {ASSETS[asset].networkName}
            </button>
          ))}
        </div>
      </fieldset>
    </form>
  )
}

export function NetworkWarning({ page: { view, language } }: { page: CheckoutPage }) {
  const { symbol } = ASSETS[view.asset]
  const network = payableNetworks(language, view)
  return (
    <p class="notice">
      <Icon name="alert" />
      <span>{fill(language.messages.network_warning, { symbol, network })}</span>
    </p>
  )
}
