import { ASSETS } from '../../core/assets.ts'
import type { CoinFault, CoinOffer } from '../../core/checkout/coin-offers.ts'
import { nearCoin } from './amounts.ts'
import type { ShopPage } from './checkout-page.ts'
import { CoinMark } from './coin-mark.tsx'
import { fill } from './language.ts'
import { payableNetworks } from './network-names.ts'

/** The coins as cards to choose from. One that cannot be used is disabled and says why. */
export function CoinCards(props: {
  page: ShopPage
  coins: readonly CoinOffer[]
  chosen: string | null
  legend: string
}) {
  const { page, coins, legend } = props
  const { messages } = page.language
  const chosen = chosenCoin(coins, props.chosen)
  return (
    <fieldset class="coins">
      <legend>{legend}</legend>
      {coins.map((offer) => {
        const { name, symbol } = ASSETS[offer.asset]
        const networkName = payableNetworks(page.language, offer)
        const id = `coin-${offer.asset}`
        return (
          <label class="coin" for={id}>
            <input
              type="radio"
              name="asset"
              id={id}
              value={offer.asset}
              required
              checked={offer === chosen}
              disabled={!offer.available}
            />
            <CoinMark asset={offer.asset} />
            <span class="coin-name">
              <bdi>{name === symbol ? symbol : `${name} ${symbol}`}</bdi>{' '}
              {networkName !== name && <small>{fill(messages.open_network, { network: networkName })}</small>}
            </span>
            <small class="coin-amount">
              {offer.available && offer.amount !== null ? (
                <bdi dir="ltr">{nearCoin(offer.asset, offer.amount)}</bdi>
              ) : (
                reasonOf(page, offer.reason)
              )}
            </small>
          </label>
        )
      })}
    </fieldset>
  )
}

/** The card that is chosen when the page is drawn: the wanted coin, or the first that can be used. */
export function chosenCoin(coins: readonly CoinOffer[], wanted: string | null): CoinOffer | undefined {
  const usable = coins.filter(({ available }) => available)
  return usable.find(({ asset }) => asset === wanted) ?? usable[0]
}

function reasonOf({ language: { messages } }: ShopPage, reason: CoinFault | null): string {
  switch (reason) {
    case 'rate_unavailable':
      return messages.unavailable_price
    case 'amount_too_small':
      return messages.unavailable_minimum
    default:
      return messages.unavailable
  }
}
