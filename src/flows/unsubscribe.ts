import { insertBuyerOptout } from '../db/checkout/buyer-emails.ts'
import { loadMerchantName } from '../db/people/merchants.ts'
import type { Pool } from '../postgres/pool.ts'
import { type Tx, withTransaction } from '../postgres/transaction.ts'
import type { Keyring } from '../secrets/keyring.ts'
import { readUnsubscribeToken, type Unsubscribe } from '../secrets/unsubscribe-token.ts'

type UnsubscribeDeps = { readonly pool: Pool; readonly keyring: Keyring }

/** The name of the shop whose emails a token ends; null for one that is none of ours, which costs no query. */
export const readUnsubscribe = (deps: UnsubscribeDeps, token: string): Promise<string | null> =>
  withShop(deps, token, async () => {})

/** Ends a shop's emails to the mailbox that the token names, of both modes and for good; as often as it is asked. */
export const unsubscribe = (deps: UnsubscribeDeps, token: string): Promise<string | null> =>
  withShop(deps, token, (tx, { merchantId, recipient }) => insertBuyerOptout(tx, merchantId, recipient))

async function withShop(
  { pool, keyring }: UnsubscribeDeps,
  token: string,
  then: (tx: Tx, of: Unsubscribe) => Promise<void>,
): Promise<string | null> {
  const of = readUnsubscribeToken(keyring, token)
  if (of === null) return null
  return withTransaction(pool, { merchantId: of.merchantId, livemode: true }, async (tx) => {
    const name = await loadMerchantName(tx, of.merchantId)
    if (name !== null) await then(tx, of)
    return name
  })
}
