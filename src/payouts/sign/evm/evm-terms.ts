import type { HDKey } from '@scure/bip32'
import type { TokenDomain } from '../../../chain/evm/token-authorization.ts'
import { ASSETS, type AssetId, type Network, nativeAssetOf } from '../../../core/assets.ts'
import { type EvmChain, isEvmChain } from '../../../core/chain/evm-networks.ts'
import { evmParametersOf, isKnownContract } from '../../../core/chain/evm-parameters.ts'
import { type Realm, realmOfMode } from '../../../core/chain/realm.ts'
import {
  type GasPrice,
  gasCostOf,
  gasPriceOf,
  replacingPrice,
  TRANSFER_GAS,
} from '../../../core/payout/gas.ts'
import type { Payout } from '../../../core/payout/payout.ts'
import {
  type HotWallet,
  hotTokenOf,
  loadHotWallet,
  sumHotObligations,
} from '../../../db/addresses/hot-wallets.ts'
import { isDue } from '../../../runtime/clock.ts'
import { listLiveIntents, listTakenNonces } from '../../store/account-nonces.ts'
import { alert } from '../alert.ts'
import { type EvmEntry, nonceClaim } from '../journal-lines.ts'
import { isSealedReading } from '../outcomes.ts'
import type { SigningContext } from '../signing-context.ts'
import { hotWalletAddress } from './sign-evm.ts'

/** How long what the watcher last read is believed. */
const TERMS_AGE_MS_MAX = 5 * 60_000
const TOO_OLD =
  "by this host's clock, fees and balances were read more than 5 minutes ago, and nothing is signed: see that the watcher runs, and that both hosts have a time service"
const UNSEALED =
  'the watcher has not sealed what it read of the hot wallet, and nothing is signed: see that it runs this release and has WATCHER_KEY (paylink doctor); otherwise somebody else wrote it'
/** Transactions of one hot wallet that may wait for a block. */
const IN_FLIGHT_MAX = 32

/** What a signature on a network of accounts needs. */
export type EvmTerms = {
  readonly network: Network
  readonly chain: EvmChain
  readonly account: HDKey
  readonly chainId: bigint
  /** 20 bytes. */
  readonly hot: Uint8Array
  readonly wallet: HotWallet
  /** The contract of what is moved; null where it is the chain's own coin, or no such token is known on the network. */
  readonly token: TokenTerms | null
}

type TokenTerms = {
  /** 20 bytes. */
  readonly contract: Uint8Array
  /** What the hot wallet holds, base units. */
  readonly balance: bigint
  /** Under which it takes signatures (EIP-3009); null where it takes none. */
  readonly domain: TokenDomain | null
}

/**
 * What an account-based network charges now and what the hot wallet has, as the watcher read and sealed it; null while that is
 * unknown or too old. Chain id and token contract are checked against our own parameters: nobody has a say in them.
 */
export async function readEvmTerms(
  signer: SigningContext,
  { network, livemode, asset }: Pick<Payout, 'network' | 'livemode' | 'asset'>,
): Promise<EvmTerms | null> {
  const { chain } = ASSETS[asset]
  const account = signer.accounts.get(livemode ? 'evm-live' : 'evm-test')
  const wallet = await loadHotWallet(signer.pool, network)
  if (!isEvmChain(chain) || account === undefined || wallet === null) return null
  if (signer.clock().getTime() - wallet.updatedAt.getTime() > TERMS_AGE_MS_MAX) {
    alert(signer, { id: network }, TOO_OLD)
    return null
  }
  if (!(await isSealedReading(signer, wallet.sealed))) {
    alert(signer, { id: network }, UNSEALED)
    return null
  }
  const hot = hotWalletAddress(account)
  const realm = realmOfMode(livemode, signer.staging)
  if (!wallet.address.equals(hot) || evmParametersOf(chain, realm, wallet.chainId) === null) return null
  const chainId = BigInt(wallet.chainId)
  return { network, chain, account, chainId, hot, wallet, token: tokenOf(network, realm, wallet, asset) }
}

function tokenOf(network: Network, realm: Realm, wallet: HotWallet, asset: AssetId): TokenTerms | null {
  const token = hotTokenOf(wallet, asset)
  if (token === null) return null
  const { contract, balance, domain } = token
  if (!isKnownContract(network, realm, { asset, contract: `0x${contract.toString('hex')}` })) return null
  const chainId = BigInt(wallet.chainId)
  return { contract, balance, domain: domain === null ? null : { ...domain, chainId, contract } }
}

/**
 * The hot wallet's next nonce: the first that no payout or sweep has, by the database or by the signer's own journal.
 * What was signed for one that the database has forgotten counts for nothing: whatever takes its nonce conflicts with
 * it, and only one of the two can happen. Null while too much waits for a block.
 */
export async function nextHotNonce(
  signer: SigningContext,
  { network, hot, wallet }: EvmTerms,
): Promise<{ readonly nonce: number; readonly waiting: number } | null> {
  const taken = await listTakenNonces(signer.pool, { network, sender: hot, from: wallet.nonce })
  const sender = Buffer.from(hot).toString('hex')
  for (let nonce = wallet.nonce; nonce < wallet.nonce + IN_FLIGHT_MAX; nonce++) {
    if (taken.has(nonce)) continue
    const signedFor = signer.journal.spendersOf(nonceClaim({ network, sender, nonce }))
    const live = signedFor.length === 0 ? new Set() : await listLiveIntents(signer.pool, signedFor)
    if (live.size === 0) return { nonce, waiting: nonce - wallet.nonce }
  }
  return null
}

/** Whether the hot wallet's own ether, which is no merchant's, pays for so much gas beside all that waits. */
export async function coversGas(
  signer: SigningContext,
  { network, chain, wallet }: EvmTerms,
  spend: { readonly gas: bigint; readonly price: GasPrice; readonly waiting: number },
): Promise<boolean> {
  const owed = await sumHotObligations(signer.pool, {
    network,
    asset: nativeAssetOf(chain),
    headNonce: wallet.nonce,
  })
  return wallet.balance - owed >= gasCostOf(spend.gas, spend.price, wallet) * BigInt(spend.waiting + 1)
}

/** A line of the journal about a signed transaction. */
export function evmEntryOf(signed: {
  readonly intentId: string
  readonly number: number
  readonly network: Network
  readonly digest: Buffer
  readonly built: { readonly txid: string; readonly raw: Buffer }
  /** In units of the asset, as the payout or sweep pays it. */
  readonly networkFee: bigint
  readonly sender: Uint8Array
  readonly nonce: number
  readonly gas: bigint
  readonly price: GasPrice
  readonly height: number
  readonly nowMs: number
}): EvmEntry {
  return {
    payout_id: signed.intentId,
    number: signed.number,
    network: signed.network,
    digest: signed.digest.toString('hex'),
    txid: signed.built.txid,
    raw: signed.built.raw.toString('hex'),
    network_fee: signed.networkFee.toString(),
    from_height: signed.height,
    sender: Buffer.from(signed.sender).toString('hex'),
    nonce: signed.nonce,
    gas: signed.gas.toString(),
    max_fee: signed.price.maxFee.toString(),
    tip: signed.price.tip.toString(),
    signed_at: signed.nowMs,
  }
}

export const priceOfEntry = (entry: EvmEntry): GasPrice => ({
  maxFee: BigInt(entry.max_fee),
  tip: BigInt(entry.tip),
})

/** Whether a block of now may have a payment of native coin, by what it pays for gas and by the gas that it has for its data. */
export const isTakenByBlocks = (entry: EvmEntry, { wallet }: EvmTerms): boolean =>
  priceOfEntry(entry).maxFee >= wallet.baseFee && BigInt(entry.gas) >= TRANSFER_GAS + wallet.dataGas

/** The price of now; of what was signed before, as `last`, the one that replaces it. */
export const wantedPrice = ({ wallet }: EvmTerms, last: EvmEntry | null): GasPrice =>
  last === null ? gasPriceOf(wallet) : replacingPrice(priceOfEntry(last), wallet)

/** A transaction waits this long for a block before another takes its nonce for a higher fee, and longer each time. */
const REPLACE_AFTER_MS = 3 * 60_000
const REPLACEMENTS_MAX = 10

/** Whether the newest signature has waited so long that it is replaced. */
export function isReplacementDue(last: EvmEntry, nowMs: number): boolean {
  return last.number <= REPLACEMENTS_MAX && isDue(last.signed_at, REPLACE_AFTER_MS * last.number, nowMs)
}
