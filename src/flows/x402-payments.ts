import type { IssuedAddressCheck } from '../core/address-batch.ts'
import { type Network, networkOf } from '../core/assets.ts'
import type { Invoice } from '../core/invoice/types.ts'
import { isPayableByAuthorization } from '../core/x402/judge-authorization.ts'
import { loadInvoice } from '../db/invoices/invoices.ts'
import {
  countX402Authorizations,
  findX402Authorization,
  insertX402Authorization,
  loadX402Authorization,
  type X402Authorization,
} from '../db/invoices/x402-authorizations.ts'
import type { Pool } from '../postgres/pool.ts'
import { type Tenant, withTransaction } from '../postgres/transaction.ts'
import type { Clock } from '../runtime/clock.ts'
import { newId } from '../runtime/new-id.ts'
import { readInvoiceToken } from '../secrets/checkout-token.ts'
import type { Keyring } from '../secrets/keyring.ts'
import { isBeingPaid } from './steps/payment-under-way.ts'
import { loadShownInvoice } from './steps/shown-invoices.ts'

export type ReadX402Deps = {
  /** Connections of the API's role. */
  readonly pool: Pool
  readonly keyring: Keyring
  readonly issuedAddresses: IssuedAddressCheck
}

/** An invoice that a token opens. */
export type X402Invoice = {
  readonly tenant: Tenant
  readonly network: Network
  readonly invoice: Invoice
}

/** Null for every token that opens nothing, whatever the reason; one that was made up costs no query. */
export async function readX402Invoice(deps: ReadX402Deps, token: string): Promise<X402Invoice | null> {
  const reference = readInvoiceToken(deps.keyring, token)
  if (reference === null) return null
  const { merchantId, livemode, invoiceId } = reference
  const tenant = { merchantId, livemode }
  return withTransaction(deps.pool, tenant, async (tx) => {
    const stored = await loadShownInvoice(tx, tenant, invoiceId, deps.issuedAddresses)
    if (stored === null) return null
    const { invoice } = stored
    return { tenant, network: networkOf(invoice.asset, livemode), invoice }
  })
}

/** How far an authorization has come. */
export async function readX402Authorization(
  { pool }: Pick<ReadX402Deps, 'pool'>,
  tenant: Tenant,
  id: string,
): Promise<X402Authorization> {
  const found = await withTransaction(pool, tenant, (tx) => loadX402Authorization(tx, tenant, id))
  if (found === null) throw new Error('an x402 authorization is gone')
  return found
}

type SubmitX402Deps = {
  /** Connections of the API's role. */
  readonly pool: Pool
  readonly clock: Clock
}

type X402Submitted =
  | { readonly kind: 'accepted' | 'known'; readonly authorization: X402Authorization }
  /** Another one, or a card provider, pays the invoice already. */
  | { readonly kind: 'busy' }
  /** So many have failed that no more are tried. */
  | { readonly kind: 'exhausted' }
  /** Nothing can pay it any more, or it asks for something else by now. */
  | { readonly kind: 'not_payable' }
  /** It has too little time left, and was not handed in before. */
  | { readonly kind: 'late' }

/** Authorizations tried for one invoice: each may cost the hot wallet gas. */
export const ATTEMPTS_MAX = 20

/** What its holder signed, as it is kept. */
export type SignedTransfer = Pick<
  X402Authorization,
  'payer' | 'recipient' | 'value' | 'validAfter' | 'validBefore' | 'nonce' | 'signature' | 'message'
>

/**
 * Keeps a signed transfer, whose signature and terms were checked, before anybody acts on it. The invoice's row is locked:
 * of any number at once one is accepted, and the same one again is known by its payer and nonce.
 */
export async function submitX402Authorization(
  { pool, clock }: SubmitX402Deps,
  input: {
    readonly tenant: Tenant
    readonly invoiceId: string
    readonly transfer: SignedTransfer
    /** Whether it has too little time left to be sent to the chain. */
    readonly isLate: boolean
  },
): Promise<X402Submitted> {
  const { tenant, invoiceId, transfer } = input
  const { payer, nonce, value } = transfer
  return withTransaction(pool, tenant, async (tx): Promise<X402Submitted> => {
    const stored = await loadInvoice(tx, tenant, invoiceId, { forUpdate: true })
    const known = await findX402Authorization(tx, tenant, { invoiceId, payer, nonce })
    if (known !== null) return { kind: 'known', authorization: known }
    if (input.isLate) return { kind: 'late' }
    const now = clock()
    if (stored === null || !isPayableByAuthorization(stored.invoice, now.getTime()))
      return { kind: 'not_payable' }
    if (value !== stored.invoice.amount) return { kind: 'not_payable' }
    if (await isBeingPaid(tx, tenant, stored.invoice, now)) return { kind: 'busy' }
    if ((await countX402Authorizations(tx, tenant, invoiceId)) >= ATTEMPTS_MAX) return { kind: 'exhausted' }
    const id = newId('x402Authorization', now)
    const network = networkOf(stored.invoice.asset, tenant.livemode)
    const isOwn = await insertX402Authorization(tx, tenant, { id, invoiceId, network, ...transfer, now })
    const made = isOwn ? await loadX402Authorization(tx, tenant, id) : null
    return made === null ? { kind: 'not_payable' } : { kind: 'accepted', authorization: made }
  })
}
