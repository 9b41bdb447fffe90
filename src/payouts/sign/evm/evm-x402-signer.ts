import { isSignedByPayer, payerTransferCall } from '../../../chain/evm/payer-authorization.ts'
import { gasPriceOf, replacingPrice, tokenSweepGasAt } from '../../../core/payout/gas.ts'
import { tenantOf } from '../../../core/tenant.ts'
import { SETTLE_SECONDS_MIN } from '../../../core/x402/judge-authorization.ts'
import { x402AssetOn } from '../../../core/x402/x402-assets.ts'
import type { X402Authorization } from '../../../db/invoices/x402-authorizations.ts'
import { insertAccountNonce } from '../../store/account-nonces.ts'
import { alert } from '../alert.ts'
import { type EvmEntry, isEvmEntry, type JournalEntry } from '../journal-lines.ts'
import type { SigningContext } from '../signing-context.ts'
import type { X402Signer } from '../x402-signer.ts'
import {
  coversGas,
  type EvmTerms,
  evmEntryOf,
  isReplacementDue,
  nextHotNonce,
  priceOfEntry,
  readEvmTerms,
} from './evm-terms.ts'
import { depositAddress, signFromHotWallet } from './sign-evm.ts'

/** Transactions of the hot wallet that carry an EIP-3009 authorization. It pays the gas and sends no money of its own. */
export const EVM_X402: X402Signer = {
  perHourMax: 1_000,
  isDue: (authorization, last, nowMs) =>
    last === undefined ? hasTime(authorization, nowMs) : isReplacementDue(ofEvm(last), nowMs),
  build: (signer, authorization, { last, digest }) =>
    build(signer, authorization, { last: last === undefined ? undefined : ofEvm(last), digest }),
  creationOf: () => null,
  publish: (tx, authorization, entry) => {
    const { network, nonce, sender } = ofEvm(entry)
    const taken = { network, sender: Buffer.from(sender, 'hex'), nonce, intentId: authorization.id }
    return insertAccountNonce(tx, tenantOf(authorization), taken)
  },
}

function ofEvm(entry: JournalEntry): EvmEntry {
  if (isEvmEntry(entry)) return entry
  throw new Error(`${entry.payout_id} is of another family of chains in the journal`)
}

const hasTime = ({ validBefore }: X402Authorization, nowMs: number): boolean =>
  validBefore >= BigInt(Math.floor(nowMs / 1_000)) + SETTLE_SECONDS_MIN

/** Whether it was signed by who pays and pays an address of this seed: the database alone is not believed. */
function isOurs(
  signer: SigningContext,
  authorization: X402Authorization,
  { account, token }: EvmTerms,
): boolean {
  if (token?.domain == null) return false
  const { payer, recipient, keyIndex } = authorization
  const isGood =
    recipient.equals(depositAddress(account, keyIndex)) &&
    isSignedByPayer({ ...authorization, from: payer, to: recipient }, token.domain)
  if (!isGood) alert(signer, authorization, 'an x402 authorization pays nobody here, and is not signed')
  return isGood
}

/** Null while it has to wait. */
async function build(
  signer: SigningContext,
  authorization: X402Authorization,
  { last, digest }: { readonly last: EvmEntry | undefined; readonly digest: Buffer },
): Promise<EvmEntry | null> {
  const asset = x402AssetOn(authorization.network)
  const terms = asset === null ? null : await readEvmTerms(signer, { ...authorization, asset })
  if (terms === null || !isOurs(signer, authorization, terms)) return null
  const { wallet, chainId, account, network, token, hot } = terms
  const place = last === undefined ? await nextHotNonce(signer, terms) : { nonce: last.nonce, waiting: 0 }
  // Of what waits only the hot wallet's next transaction is replaced.
  if (token === null || place === null || (last !== undefined && wallet.nonce !== last.nonce)) return null
  const price = last === undefined ? gasPriceOf(wallet) : replacingPrice(priceOfEntry(last), wallet)
  const gas = tokenSweepGasAt(price, wallet)
  if (!(await coversGas(signer, terms, { gas, price, waiting: place.waiting }))) return null
  const { payer: from, recipient: to } = authorization
  const built = signFromHotWallet(account, {
    chainId,
    nonce: BigInt(place.nonce),
    gas,
    maxFeePerGas: price.maxFee,
    maxPriorityFeePerGas: price.tip,
    to: token.contract,
    value: 0n,
    data: payerTransferCall({ ...authorization, from, to }),
  })
  const intent = { intentId: authorization.id, number: (last?.number ?? 0) + 1, network, digest }
  const how = { sender: hot, nonce: place.nonce, gas, price, networkFee: 0n, height: wallet.height }
  return evmEntryOf({ ...intent, ...how, built, nowMs: signer.clock().getTime() })
}
