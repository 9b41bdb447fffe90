import type { IssuedAddressCheck } from '../core/address-batch.ts'
import type { AssetId } from '../core/assets.ts'
import type { OnrampProvider } from '../core/card/onramp-provider.ts'
import type { TestCardOutcome } from '../core/card/test-cards.ts'
import type { OwnInvoice, OwnPurchase } from '../core/checkout/checkout-pages.ts'
import { askCardOffers, leaveForCardProvider, readCardOffers } from '../flows/card-purchases.ts'
import { recordProviderUpdate } from '../flows/record-provider-update.ts'
import { readTestCardPurchase, takeTestCardPurchase } from '../flows/take-test-purchase.ts'
import type { Pool } from '../postgres/pool.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Log } from '../runtime/log.ts'
import type { SandboxControl } from '../sandbox/sandbox-control.ts'
import type { Keyring } from '../secrets/keyring.ts'

const SLOW_MS = 10_000
const UNDER_PERCENT = 40n
/** A sandbox purchase has one transaction, with this id. */
const SANDBOX_TRANSACTION = 'sandbox'

type CardOnrampsDeps = {
  /** Connections of the API's role. */
  readonly pool: Pool
  readonly clock: Clock
  readonly keyring: Keyring
  readonly issuedAddresses: IssuedAddressCheck
  readonly log: Log
  readonly notifier: { invoiceChanged(invoiceId: string): void }
  /** Origin of the site, to which providers send buyers back. */
  readonly baseUrl: string
  readonly providers: readonly OnrampProvider[]
  /** What the sandbox's card page sends coins with; null where no sandbox chain runs. */
  readonly sandbox: Pick<SandboxControl, 'sendCoins'> | null
  /** The buyer's IP address from the request's headers; null if it is not public. */
  readonly publicAddressOf: (headers: Headers) => string | null
}

/** The card providers as the buyers' pages use them. */
export function createCardOnramps(deps: CardOnrampsDeps) {
  const { sandbox } = deps
  return {
    sells: (asset: AssetId, livemode: boolean): boolean =>
      deps.providers.some((provider) => provider.livemode === livemode && provider.sells(asset)),
    ask: (
      request: OwnInvoice & { readonly place: string; readonly headers: Headers; readonly path: string },
    ) => {
      const { headers, path, ...rest } = request
      const clientAddress = deps.publicAddressOf(headers)
      return askCardOffers(deps, { ...rest, clientAddress, returnUrl: deps.baseUrl + path })
    },
    offers: (invoice: OwnInvoice) => readCardOffers(deps, invoice),
    leave: (purchase: OwnPurchase) => leaveForCardProvider(deps, purchase),
    ...(sandbox === null
      ? {}
      : {
          test: {
            read: (purchase: OwnPurchase) => readTestCardPurchase(deps, purchase),
            play: (card: OwnPurchase & { readonly outcome: TestCardOutcome }) =>
              playTestCard(deps, sandbox, card),
          },
        }),
  }
}

/** Plays the outcome of a test card. However often the button is pressed, coins are sent once. */
async function playTestCard(
  deps: CardOnrampsDeps,
  sandbox: Pick<SandboxControl, 'sendCoins'>,
  { outcome, ...own }: OwnPurchase & { readonly outcome: TestCardOutcome },
): Promise<'played' | 'failed' | 'not_found'> {
  if (outcome === 'abandoned')
    return (await readTestCardPurchase(deps, own)) === null ? 'not_found' : 'played'
  const update = outcome === 'declined' ? 'failed' : 'pending'
  const taken = await takeTestCardPurchase(deps, { ...own, update })
  if (taken === null) return 'not_found'
  if (outcome === 'declined' || !taken.first) return 'played'
  const { asset, address, amount } = taken.purchase
  const isSent = await sandbox.sendCoins({
    asset,
    address,
    amount: outcome === 'under' ? (amount * UNDER_PERCENT + 99n) / 100n : amount,
    afterMs: outcome === 'slow' ? SLOW_MS : 0,
  })
  if (isSent && outcome === 'slow') return 'played'
  await recordProviderUpdate(deps, {
    provider: 'sandbox',
    purchaseId: own.purchaseId,
    transaction: SANDBOX_TRANSACTION,
    update: isSent ? 'completed' : 'failed',
    address,
  })
  return isSent ? 'played' : 'failed'
}
