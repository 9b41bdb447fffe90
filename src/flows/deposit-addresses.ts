import type { IssuedAddressCheck } from '../core/address-batch.ts'
import type { Keyspace } from '../core/assets.ts'
import type { DepositAccount } from '../core/deposit/deposit.ts'
import type { DepositPlan } from '../core/invoice/plan.ts'
import { findBatchOf } from '../db/addresses/address-batches.ts'
import { addDepositAddress, listDepositAddresses } from '../db/addresses/deposit-addresses.ts'
import { findDepositAccount, insertDepositAccount, lockCustomer } from '../db/deposits/deposit-accounts.ts'
import type { Tenant, Tx } from '../postgres/transaction.ts'
import { newId } from '../runtime/new-id.ts'
import { claimIssuedAddress } from './steps/claim-issued-address.ts'

export type GivenAddress = { readonly keyspace: Keyspace; readonly address: string }

type DepositAccountOpened =
  | { readonly kind: 'created' | 'found'; readonly account: DepositAccount }
  | { readonly kind: 'limit_reached' }
  | { readonly kind: 'no_address' }

/**
 * The permanent addresses of one customer: the same whenever they are asked for, and one more of each family that was not
 * offered before, or had none to give out. In the caller's transaction, where everybody who asks for this customer waits.
 */
export async function openDepositAccount(
  tx: Tx,
  input: {
    readonly tenant: Tenant
    readonly customerReference: string
    /** One for each family that is offered now. */
    readonly plans: readonly DepositPlan[]
    readonly issuedAddresses: IssuedAddressCheck
    readonly serviceFeeBps: number
    readonly isLimitReached: boolean
    readonly now: Date
  },
): Promise<DepositAccountOpened> {
  const { tenant, customerReference, plans, issuedAddresses, serviceFeeBps, now } = input
  await lockCustomer(tx, tenant, customerReference)
  const known = await findDepositAccount(tx, tenant, customerReference)
  if (known === null && input.isLimitReached) return { kind: 'limit_reached' }
  const given =
    known === null ? [] : (await listDepositAddresses(tx, tenant, [known.id])).map(({ keyspace }) => keyspace)
  const missing = plans.filter(({ keyspace }) => !given.includes(keyspace))
  const account: DepositAccount = known ?? {
    ...tenant,
    id: newId('depositAddress', now),
    customerReference,
    serviceFeeBps,
    createdAtMs: now.getTime(),
  }
  if (known === null) await insertDepositAccount(tx, account)
  let added = 0
  for (const plan of missing) {
    const claimed = await claimIssuedAddress(tx, tenant, plan, now, issuedAddresses)
    if (claimed === null) continue
    const { keyspace } = plan
    await addDepositAddress(tx, tenant, { ...claimed, keyspace, invoiceId: account.id, now })
    added += 1
  }
  if (given.length + added === 0) return { kind: 'no_address' }
  return { kind: known === null ? 'created' : 'found', account }
}

/** The addresses of some accounts that may be shown: each was given to its account, and is the one that the signer signed. */
export async function listShownAddresses(
  tx: Tx,
  tenant: Tenant,
  accountIds: readonly string[],
  issued: IssuedAddressCheck,
): Promise<ReadonlyMap<string, readonly GivenAddress[]>> {
  const shown = new Map<string, GivenAddress[]>(accountIds.map((id) => [id, []]))
  if (accountIds.length === 0) return shown
  for (const given of await listDepositAddresses(tx, tenant, accountIds)) {
    const { keyspace, idx, invoiceId, address } = given
    if (await issued.isIssued(keyspace, given, () => findBatchOf(tx, keyspace, idx), invoiceId))
      shown.get(invoiceId)?.push({ keyspace, address })
  }
  return shown
}
