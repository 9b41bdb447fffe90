import { secp256k1 } from '@noble/curves/secp256k1.js'
import type { HDKey } from '@scure/bip32'
import { p2pkh, p2wpkh, SigHash, Transaction } from '@scure/btc-signer'
import type { Payout } from '../../../core/payout/payout.ts'
import { tenantOf } from '../../../core/tenant.ts'
import {
  loadChangeCoin,
  loadDepositCoin,
  loadSignedTransaction,
  type OwnCoin,
} from '../../store/payout-coins.ts'
import type { SigningContext } from '../signing-context.ts'
import { ANY_OUTPUT, publicKeyAt } from './coin-keys.ts'

/** Payouts that spend one another's change, looked at for one coin. */
const ANCESTORS_MAX = 1_000

/**
 * Whether change that a lost journal does not know is the merchant's. It is if the transaction that created it, or an
 * earlier one in the same chain of change, is signed with the key of one of the merchant's deposit addresses. Only the
 * signer has that key, and it never mixes merchants in a transaction. The database's claims about change are not used.
 */
export async function isProvenChange(
  { pool }: Pick<SigningContext, 'pool'>,
  account: HDKey,
  payout: Payout,
  coin: OwnCoin,
): Promise<boolean> {
  const tenant = tenantOf(payout)
  const { network } = payout
  const open: ChangeCoin[] = [coin]
  for (let looked = 0; looked < ANCESTORS_MAX; looked++) {
    const change = open.pop()
    if (change === undefined) return false
    const raw = await loadSignedTransaction(pool, tenant, { network, txid: change.txid })
    if (raw === null) continue
    const transaction = Transaction.fromRaw(raw, ANY_OUTPUT)
    // What another output of a transaction pays may be anybody's: only its change is whose its inputs were.
    if (!makes(transaction, account, change)) continue
    for (let index = 0; index < transaction.inputsLength; index++) {
      const spent = { network, ...outpointOf(transaction, index) }
      const deposit = await loadDepositCoin(pool, tenant, spent)
      const isDeposits =
        deposit !== null &&
        isSignedWith(publicKeyAt(account, 0, deposit.index), transaction, index, deposit.amount)
      if (isDeposits) return true
      const earlier = await loadChangeCoin(pool, tenant, spent)
      if (earlier !== null) open.push({ ...spent, ...earlier })
    }
  }
  return false
}

type ChangeCoin = Pick<OwnCoin, 'txid' | 'outputIndex' | 'amount' | 'index'>

/** Whether this transaction created the coin, paid to the change key that the database names. Its id covers its outputs. */
function makes(transaction: Transaction, account: HDKey, coin: ChangeCoin): boolean {
  if (transaction.id !== coin.txid || coin.outputIndex >= transaction.outputsLength) return false
  const { script, amount } = transaction.getOutput(coin.outputIndex)
  const own = p2wpkh(publicKeyAt(account, 1, coin.index)).script
  return amount === coin.amount && script !== undefined && Buffer.compare(script, own) === 0
}

function outpointOf(transaction: Transaction, index: number) {
  const { txid, index: outputIndex } = transaction.getInput(index)
  if (txid === undefined || outputIndex === undefined) throw new Error('an input spends nothing')
  return { txid: Buffer.from(txid).toString('hex'), outputIndex }
}

/** Whether the witness of a P2WPKH input is a signature of this key over the whole transaction (BIP143). */
function isSignedWith(
  publicKey: Uint8Array,
  transaction: Transaction,
  index: number,
  amount: bigint,
): boolean {
  const [signature, key] = transaction.getInput(index).finalScriptWitness ?? []
  if (signature === undefined || key === undefined || Buffer.compare(key, publicKey) !== 0) return false
  if (signature.at(-1) !== SigHash.ALL) return false
  const digest = transaction.preimageWitnessV0(index, p2pkh(publicKey).script, SigHash.ALL, amount)
  return secp256k1.verify(signature.subarray(0, -1), digest, publicKey, { prehash: false, format: 'der' })
}
