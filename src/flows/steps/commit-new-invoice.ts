import type { IssuedAddressCheck } from '../../core/address-batch.ts'
import { keyFamilyOfNetwork, keyspaceOf } from '../../core/assets.ts'
import { returnUrlOf } from '../../core/checkout/checkout-session.ts'
import { NO_ORIGIN, NOTHING_HAPPENED_YET } from '../../core/invoice/new-invoice.ts'
import type { DepositPlan, InvoicePlan } from '../../core/invoice/plan.ts'
import type { NetworkFacts } from '../../core/invoice/render.ts'
import type { Invoice } from '../../core/invoice/types.ts'
import { takeLeasedAddress } from '../../db/addresses/address-leases.ts'
import { insertEvent } from '../../db/delivery/events.ts'
import { type ClaimedAddress, insertInvoice } from '../../db/invoices/invoices.ts'
import type { Tenant, Tx } from '../../postgres/transaction.ts'
import { newId } from '../../runtime/new-id.ts'
import type { LeasedAddresses } from './address-leases.ts'
import { claimIssuedAddress } from './claim-issued-address.ts'
import { invoiceEvent } from './commit-advance.ts'

/** An invoice's fields besides its terms. Its origin is left out if it came from a plain API request. */
export type NewInvoiceDetails = Pick<
  Invoice,
  'allowAssetSelection' | 'customerEmail' | 'description' | 'externalReference' | 'metadata'
> &
  Partial<
    Pick<
      Invoice,
      'amountSource' | 'orderReference' | 'checkoutSessionId' | 'paymentLinkId' | 'returnUrl' | 'reopenedFrom'
    >
  >

/**
 * Writes a planned invoice: takes an address from the pool, writes the invoice and `invoice.created` with its
 * deliveries. In the caller's transaction, so that the request's stored answer commits with it.
 */
export async function commitNewInvoice(
  tx: Tx,
  input: {
    tenant: Tenant
    plan: Extract<InvoicePlan, { kind: 'planned' }>
    details: NewInvoiceDetails
    networkFacts: NetworkFacts
    issuedAddresses: IssuedAddressCheck
    /** In place of such from the pool, the first of the invoice's asset; then no statement's answer is waited for. */
    leased?: LeasedAddresses
    /** The operator's fee, in basis points. */
    serviceFeeBps: number
    /** The API request that created it; null if a buyer did. */
    requestId: string | null
  },
): Promise<
  | {
      kind: 'created'
      invoice: Invoice
      /** To be awaited before the commit; meanwhile the caller may send statements of its own. */
      written: Promise<{ deliveries: number }>
    }
  | { kind: 'no_address' }
> {
  const { tenant, plan } = input
  const now = new Date(plan.terms.createdAtMs)
  const claimed =
    input.leased?.own ?? (await claimIssuedAddress(tx, tenant, plan.deposit, now, input.issuedAddresses))
  if (claimed === null) return { kind: 'no_address' }
  const beside =
    input.leased?.beside ?? (await claimBeside(tx, tenant, plan.depositsBeside, now, input.issuedAddresses))
  const id = newId('invoice', now)
  const { returnUrl = null } = input.details
  const invoice: Invoice = {
    ...NO_ORIGIN,
    ...withinAddresses(plan, beside),
    price: plan.price,
    ...input.details,
    ...NOTHING_HAPPENED_YET,
    merchantId: tenant.merchantId,
    livemode: tenant.livemode,
    id,
    returnUrl: returnUrl === null ? null : returnUrlOf(returnUrl, id),
    address: claimed.address,
    addressesBeside: Object.fromEntries(
      beside.map(({ deposit, address }) => [keyFamilyOfNetwork(deposit.network), address]),
    ),
    serviceFeeBps: input.serviceFeeBps,
  }
  const event = invoiceEvent('invoice.created', invoice, 1, {
    now,
    networkFacts: input.networkFacts,
    requestId: input.requestId,
  })
  // Sent together: none waits for another's answer.
  const ownAddress = { ...claimed, keyspace: plan.deposit.keyspace }
  const others = beside.map(({ deposit, ...one }) => ({ ...one, keyspace: deposit.keyspace }))
  const taken =
    input.leased === undefined ? [] : [{ ...claimed, deposit: plan.deposit }, ...input.leased.beside]
  const inserts = Promise.all([
    Promise.all(taken.map(({ deposit, idx }) => takeLeasedAddress(tx, deposit, idx, now))),
    insertInvoice(tx, tenant, invoice, ownAddress, event.sequence, others),
    insertEvent(tx, tenant, event),
  ])
  const written = inserts.then(([, , queued]) => queued)
  // A caller that awaits it learns of a failure; one that fails first must not leave an unhandled rejection.
  written.catch(() => {})
  return { kind: 'created', invoice, written }
}

type AddressBeside = ClaimedAddress & { readonly deposit: DepositPlan }

/** An address of each pool that has one: a pool that is empty ends no sale that another network can take. */
async function claimBeside(
  tx: Tx,
  tenant: Tenant,
  deposits: readonly DepositPlan[],
  now: Date,
  issued: IssuedAddressCheck,
): Promise<AddressBeside[]> {
  const claimed: AddressBeside[] = []
  for (const deposit of deposits) {
    const one = await claimIssuedAddress(tx, tenant, deposit, now, issued)
    if (one !== null) claimed.push({ ...one, deposit })
  }
  return claimed
}

/** The terms without the networks for which there was no address. */
function withinAddresses(
  { terms, deposit }: Extract<InvoicePlan, { kind: 'planned' }>,
  beside: readonly AddressBeside[],
) {
  const keyspaces = new Set([deposit, ...beside.map((one) => one.deposit)].map(({ keyspace }) => keyspace))
  const livemode = deposit.network.endsWith('-live')
  const alsoAccepts = terms.alsoAccepts.filter((asset) => keyspaces.has(keyspaceOf(asset, livemode)))
  return { ...terms, alsoAccepts }
}
