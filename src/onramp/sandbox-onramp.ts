import type { AssetId } from '../core/assets.ts'
import type { CardOrder, OnrampProvider, ProviderAnswer } from '../core/card/onramp-provider.ts'
import { formatUsd } from '../core/money.ts'

/** What the sandbox pretends to charge: 2.5%, at least a dollar, from a dollar on. Nobody is charged anything. */
const FEE_PER_MILLE = 25n
const FEE_CENTS_MIN = 100n
const MINIMUM_CENTS = 100n
const USABLE_SECONDS = 300
/** Antarctica, which it pretends not to serve, so that a shopkeeper can see what buyers see then. */
const NOT_SERVED = 'AQ'

/** The pretended provider of test mode. Its page is our own, and its coins are those of the sandbox chains. */
export function createSandboxOnramp(serves: (asset: AssetId) => boolean): OnrampProvider {
  return {
    id: 'sandbox',
    livemode: false,
    sells: serves,
    begin: async (order) => answerOf(order),
    fault: async () => null,
  }
}

function answerOf({ reference, amount, usdCents, place, returnUrl }: CardOrder): ProviderAnswer {
  const dollars = (cents: bigint) => ({ amount: formatUsd(cents), currency: 'USD' })
  const minimum = dollars(MINIMUM_CENTS)
  if (place === NOT_SERVED) return { kind: 'refused', reason: 'region', minimum: null }
  if (usdCents !== null && usdCents < MINIMUM_CENTS)
    return { kind: 'refused', reason: 'below_minimum', minimum }
  const query = new URLSearchParams(new URL(returnUrl).search)
  query.set('purchase', reference)
  return {
    kind: 'offered',
    quote: usdCents === null ? null : quoteOf(usdCents, dollars),
    minimum,
    amount,
    // Beside the page from which the buyer leaves.
    url: `./test?${query}`,
    usableSeconds: USABLE_SECONDS,
  }
}

function quoteOf(usdCents: bigint, dollars: (cents: bigint) => { amount: string; currency: string }) {
  const share = (usdCents * FEE_PER_MILLE + 999n) / 1_000n
  const fees = share > FEE_CENTS_MIN ? share : FEE_CENTS_MIN
  return { total: dollars(usdCents + fees), fees: dollars(fees) }
}
