import { ASSET_IDS, ASSETS, type AssetId } from '../../core/assets.ts'
import { tokenTransferOn } from '../../core/chain/token-transfers.ts'
import { brief, usd } from './amounts.ts'
import type { CheckoutPage } from './checkout-page.ts'
import { Icon } from './icons.tsx'
import { fill } from './language.ts'
import { networksAt } from './network-names.ts'
import { formQuery } from './page-request.ts'

/**
 * Which token, and on which of its networks, the address, the payment link, the QR code and the wallet button name: the money
 * counts on all of them.
 */
export function NetworkChoice({ page }: { page: CheckoutPage }) {
  const { view, token, language } = page
  const { messages } = language
  if (view.alsoAccepts.length === 0) return null
  const { symbol } = ASSETS[view.asset]
  const taken = byFee([view.asset, ...view.alsoAccepts])
  const tokens = [...new Set(ASSET_IDS.filter((id) => taken.includes(id)).map((id) => ASSETS[id].symbol))]
  const networks = taken.filter((asset) => ASSETS[asset].symbol === symbol)
  return (
    <form method="post" action={`./${token}${formQuery(page, 'switch')}`} id="networks">
      {tokens.length > 1 && (
        <fieldset>
          <legend>{messages.token_choice}</legend>
          <div class="methods">
            {tokens.map((each) => (
              <Choice asset={assetIn(each, view.asset, taken)} chosen={each === symbol} name={each} />
            ))}
          </div>
        </fieldset>
      )}
      {networks.length > 1 && (
        <fieldset>
          <legend>
            {messages.network_choice} <small>{messages.network_facts}</small>
          </legend>
          <div class="methods">
            {networks.map((asset) => (
              <Choice asset={asset} chosen={asset === view.asset} name={ASSETS[asset].networkName}>
                <Facts page={page} asset={asset} />
              </Choice>
            ))}
          </div>
        </fieldset>
      )}
    </form>
  )
}

type ChoiceProps = { asset: AssetId; chosen: boolean; name: string; children?: unknown }

function Choice({ asset, chosen, name, children }: ChoiceProps) {
  const facts = children === undefined ? {} : { 'aria-label': name, 'aria-describedby': `facts-${asset}` }
  return (
    <button
      type="submit"
      name="asset"
      value={asset}
      {...facts}
      {...(chosen ? { 'aria-current': 'true' } : {})}
    >
      <bdi>{name}</bdi>
      {children}
    </button>
  )
}

/** `≈ $0.01 · ≈ 2 min`: what a payment there costs its sender, and how long it takes to be final. */
function Facts({ page: { language }, asset }: { page: CheckoutPage; asset: AssetId }) {
  const facts = tokenTransferOn(ASSETS[asset].chain)
  return (
    <small id={`facts-${asset}`}>
      {facts !== null &&
        `≈ ${usd(language, BigInt(facts.feeCents))} · ≈ ${brief(language, facts.finalSeconds)}`}
    </small>
  )
}

/** The cheapest to pay first, of equal ones the soonest final; what nobody has looked at comes last. */
function byFee(assets: readonly AssetId[]): readonly AssetId[] {
  const cost = (asset: AssetId) => tokenTransferOn(ASSETS[asset].chain)?.feeCents ?? Number.MAX_SAFE_INTEGER
  const time = (asset: AssetId) => tokenTransferOn(ASSETS[asset].chain)?.finalSeconds ?? 0
  return assets.toSorted(
    (a, b) => cost(a) - cost(b) || time(a) - time(b) || ASSETS[a].sumIndex - ASSETS[b].sumIndex,
  )
}

/** Another token on the network that is shown, or on its cheapest. */
function assetIn(symbol: string, shown: AssetId, taken: readonly AssetId[]): AssetId {
  const own = taken.filter((asset) => ASSETS[asset].symbol === symbol)
  return own.find((asset) => ASSETS[asset].chain === ASSETS[shown].chain) ?? own[0] ?? shown
}

export function NetworkWarning({ page: { view, language } }: { page: CheckoutPage }) {
  const { symbol } = ASSETS[view.asset]
  const network = networksAt(language, view)
  return (
    <p class="notice">
      <Icon name="alert" />
      <span>{fill(language.messages.network_warning, { symbol, network })}</span>
    </p>
  )
}
