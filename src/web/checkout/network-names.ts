import { ASSETS, type AssetId, COINS } from '../../core/assets.ts'
import type { CheckoutView } from '../../core/checkout/checkout-state.ts'
import type { Language } from './language.ts'

/** The networks of an offer or invoice, as one of which the buyer pays: "Base, Ethereum or Arbitrum One". */
export function payableNetworks(
  { locale }: Language,
  { asset, alsoAccepts }: { readonly asset: AssetId; readonly alsoAccepts: readonly AssetId[] },
): string {
  const names = [asset, ...alsoAccepts].map((each) => ASSETS[each].networkName)
  return new Intl.ListFormat(locale, { type: 'disjunction' }).format(names)
}

/** The networks on which payments that count have come; while there is none, those on which one may. */
export function paidNetworks(language: Language, view: CheckoutView): string {
  const counting = view.payments.filter(({ reviewReason }) => reviewReason === null)
  const names = new Set(counting.map(({ asset }) => COINS[asset].networkName))
  return names.size === 0
    ? payableNetworks(language, view)
    : new Intl.ListFormat(language.locale).format(names)
}
