import { ASSETS, type AssetId, COINS } from '../../core/assets.ts'
import type { CheckoutView } from '../../core/checkout/checkout-state.ts'
import type { Language } from './language.ts'

type Payable = { readonly asset: AssetId; readonly alsoAccepts: readonly AssetId[] }

/** The networks of an offer or invoice, as one of which the buyer pays: "Base, Ethereum or Arbitrum One". */
export const payableNetworks = (language: Language, { asset, alsoAccepts }: Payable): string =>
  oneOf(language, [asset, ...alsoAccepts])

/** All of them: "Base, Ethereum and Solana". */
export const everyNetwork = (language: Language, { asset, alsoAccepts }: Payable): string =>
  new Intl.ListFormat(language.locale).format(namesOf([asset, ...alsoAccepts]))

/** Those on which the token that is shown can be paid to the address that is shown. */
export function networksAt(language: Language, { asset, alsoAccepts }: Payable): string {
  const { symbol, keyFamily } = ASSETS[asset]
  const isThere = (other: AssetId) => ASSETS[other].symbol === symbol && ASSETS[other].keyFamily === keyFamily
  return oneOf(language, [asset, ...alsoAccepts.filter(isThere)])
}

const oneOf = ({ locale }: Language, assets: readonly AssetId[]): string =>
  new Intl.ListFormat(locale, { type: 'disjunction' }).format(namesOf(assets))

const namesOf = (assets: readonly AssetId[]): ReadonlySet<string> =>
  new Set(assets.map((each) => ASSETS[each].networkName))

/** The networks on which payments that count have come; while there is none, those on which one may. */
export function paidNetworks(language: Language, view: CheckoutView): string {
  const counting = view.payments.filter(({ reviewReason }) => reviewReason === null)
  const names = new Set(counting.map(({ asset }) => COINS[asset].networkName))
  return names.size === 0
    ? payableNetworks(language, view)
    : new Intl.ListFormat(language.locale).format(names)
}
