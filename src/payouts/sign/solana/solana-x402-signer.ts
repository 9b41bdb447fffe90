import { createHash } from 'node:crypto'
import { getBase58Decoder, signBytes } from '@solana/kit'
import { joinPayerTransaction, judgePayerTransaction } from '../../../chain/solana/payer-transaction.ts'
import { ownerOf } from '../../../chain/solana/watched-owners.ts'
import { ASSETS } from '../../../core/assets.ts'
import { creationUnitPrice, TOKEN_ACCOUNT_UNIT_LIMIT } from '../../../core/payout/solana-fee.ts'
import { x402AssetOn } from '../../../core/x402/x402-assets.ts'
import type { X402Authorization } from '../../../db/invoices/x402-authorizations.ts'
import { isDepositIndex, solanaKeyspace } from '../../../signer/solana-addresses.ts'
import { loadSolanaSignerAccounts } from '../../store/solana-accounts.ts'
import { alert } from '../alert.ts'
import type { JournalEntry, X402SolanaEntry } from '../journal-lines.ts'
import type { SigningContext } from '../signing-context.ts'
import type { X402Signer } from '../x402-signer.ts'
import { signerAccountsOf, signWithBlockhash } from './solana-accounts.ts'
import { createAccount, readTokenTerms } from './token-instructions.ts'

/**
 * Signs a payer's own transaction as its fee payer, once, and beside it what creates the recipient's token account: whether
 * that is there the signer cannot see, and who sends both does. Each is good for as long as the payer's block hash.
 */
export const SOLANA_X402: X402Signer = {
  // Each may cost a token account's rent, forty times what a payment costs on a cheap EVM network.
  perHourMax: 200,
  isDue: (_, last) => last === undefined,
  build: (signer, authorization, { digest }) => build(signer, authorization, digest),
  creationOf: (entry) => {
    const creation = 'creation' in entry ? entry.creation : undefined
    return creation === undefined ? null : { txid: creation.txid, raw: Buffer.from(creation.raw, 'hex') }
  },
  publish: async () => {},
}

/** By the message that was signed, and the signer's own seed: the row beside it says only which address is meant. */
async function build(
  signer: SigningContext,
  authorization: X402Authorization,
  digest: Buffer,
): Promise<JournalEntry | null> {
  const { pool, solana, clock } = signer
  const { network, message, signature, nonce, payer, recipient, keyIndex, value, id } = authorization
  const { lastValidHeight } = authorization
  const asset = x402AssetOn(network)
  const mint = asset === null ? null : await readTokenTerms(signer, network, asset)
  // Its issuer stops it now, or nobody has asked a node about its block hash.
  if (mint === null || message === null || lastValidHeight === null) return null
  const { x402FeePayer, feePayer, vault } = await signerAccountsOf(signer, network)
  const owner = isDepositIndex(keyIndex)
    ? Buffer.from(solana.ownerAt(solanaKeyspace(network), keyIndex))
    : null
  const { decimals } = ASSETS[mint.asset]
  const terms = { feePayer: x402FeePayer.address, mint, decimals, owner: ownerOf(recipient), amount: value }
  const read = judgePayerTransaction({ message, signature }, terms)
  const isGood =
    owner?.equals(recipient) === true &&
    'payer' in read &&
    read.payer === ownerOf(payer) &&
    ![feePayer.address, vault.address].some((own) => own === read.payer) &&
    createHash('sha256').update(message).digest().equals(nonce)
  if (!isGood) {
    alert(signer, authorization, 'an x402 authorization pays nobody here, and is not signed')
    return null
  }
  const feePayers = await signBytes(x402FeePayer.keyPair.privateKey, message)
  const { unitPrice = 0 } = (await loadSolanaSignerAccounts(pool, network))?.reading ?? {}
  const creation = await signWithBlockhash(
    x402FeePayer,
    [createAccount(x402FeePayer, terms.owner, mint)],
    { blockhash: read.blockhash, lastValidHeight },
    { units: TOKEN_ACCOUNT_UNIT_LIMIT, price: creationUnitPrice(unitPrice) },
  )
  const entry: X402SolanaEntry = {
    payout_id: id,
    number: 1,
    network,
    digest: digest.toString('hex'),
    txid: getBase58Decoder().decode(feePayers),
    raw: joinPayerTransaction(feePayers, { message, signature }).toString('hex'),
    network_fee: '0',
    from_height: 0,
    last_valid_height: lastValidHeight,
    signed_at: clock().getTime(),
    creation: { txid: creation.txid, raw: creation.raw.toString('hex') },
  }
  return entry
}
