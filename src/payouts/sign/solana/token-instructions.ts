import { type Address, address, type Instruction, isAddress, type KeyPairSigner } from '@solana/kit'
import {
  getCreateAssociatedTokenIdempotentInstruction,
  getTransferCheckedInstruction,
} from '@solana-program/token'
import { associatedTokenAccount } from '../../../chain/solana/token-accounts.ts'
import { ASSET_IDS, ASSETS, type AssetId, isSplToken, type Network } from '../../../core/assets.ts'
import { realmOfMode } from '../../../core/chain/realm.ts'
import { type SolanaMint, solanaMintsOf } from '../../../core/chain/solana-mints.ts'
import { loadVaultToken, type VaultToken } from '../../store/solana-token-sweeps.ts'
import type { SigningContext } from '../signing-context.ts'

/** A token as the signer moves it, and what was last read of it. */
export type TokenTerms = SolanaMint & {
  readonly asset: AssetId
  readonly held: VaultToken & { readonly readAt: Date }
}

/**
 * A token of a network; null while nobody has read that it is there. For live money the registry alone says its mint; on a
 * test network the row may name another.
 */
async function findToken(
  { pool, staging }: SigningContext,
  network: Network,
  asset: AssetId,
): Promise<TokenTerms | null> {
  const held = await loadVaultToken(pool, network, asset)
  if (held === null || !isAddress(held.mint)) return null
  const realm = realmOfMode(network.endsWith('-live'), staging)
  const known = solanaMintsOf(network, realm, { [ASSETS[asset].symbol]: held.mint })
  const mint = known.find((each) => each.asset === asset && each.mint === held.mint)
  return mint === undefined ? null : { ...mint, asset, held }
}

/** The tokens of a network. */
export async function listTokens(signer: SigningContext, network: Network): Promise<TokenTerms[]> {
  const found = await Promise.all(
    ASSET_IDS.filter(isSplToken).map((asset) => findToken(signer, network, asset)),
  )
  return found.filter((token) => token !== null)
}

/** A token, unless its issuer lets nothing of it be moved whole. */
export async function readTokenTerms(
  signer: SigningContext,
  network: Network,
  asset: AssetId,
): Promise<TokenTerms | null> {
  const token = await findToken(signer, network, asset)
  return token?.held.refusal === null ? token : null
}

/** The account of an owner's tokens, derived here: no row says where tokens are or go. */
export const accountOf = (owner: string, token: SolanaMint): Address =>
  address(associatedTokenAccount(owner, token))

/** Creates an owner's account of the token, at the payer's cost, unless it is there and the owner's. */
export const createAccount = (payer: KeyPairSigner, owner: string, token: SolanaMint): Instruction =>
  getCreateAssociatedTokenIdempotentInstruction({
    payer,
    ata: accountOf(owner, token),
    owner: address(owner),
    mint: address(token.mint),
    tokenProgram: address(token.program),
  })

/** Token-2022: the instruction of the transfer fee's extension, and of it TransferCheckedWithFee. */
const TRANSFER_WITH_FEE = [26, 1] as const
/** The two, the amount, the decimals, the fee. */
const WITH_FEE_BYTES = 19

/**
 * Moves an amount whole, or nothing at all: where the mint may take a fee of it, the transfer says that it takes none, and
 * fails where the chain finds otherwise. So what lands has brought what was signed.
 */
export function transfer(
  token: TokenTerms,
  move: { readonly from: KeyPairSigner; readonly to: string; readonly amount: bigint },
): Instruction {
  const { decimals, token: terms } = ASSETS[token.asset]
  const { from: authority, amount } = move
  const [source, destination] = [accountOf(authority.address, token), accountOf(move.to, token)]
  const mint = address(token.mint)
  const checked = getTransferCheckedInstruction(
    { source, mint, destination, authority, amount, decimals },
    { programAddress: address(token.program) },
  )
  if (terms?.standard !== 'token-2022') return checked
  const data = Buffer.alloc(WITH_FEE_BYTES)
  data.set(TRANSFER_WITH_FEE)
  data.writeBigUInt64LE(amount, TRANSFER_WITH_FEE.length)
  data[WITH_FEE_BYTES - 9] = decimals
  return { ...checked, data: new Uint8Array(data) }
}

/** What the instruction `transfer` moves, by its data; null where they are no such instruction's. */
export function amountMovedBy(
  token: SolanaMint & { readonly asset: AssetId },
  data: Iterable<number> & ArrayLike<number>,
): bigint | null {
  const bytes = Buffer.from(Uint8Array.from(data))
  const { decimals, token: terms } = ASSETS[token.asset]
  const isWithFee = terms?.standard === 'token-2022'
  const head = isWithFee ? TRANSFER_WITH_FEE : [TRANSFER_CHECKED]
  const tail = isWithFee ? [decimals, ...Array<number>(8).fill(0)] : [decimals]
  if (bytes.length !== head.length + 8 + tail.length) return null
  const isHead = head.every((byte, at) => bytes[at] === byte)
  const isTail = tail.every((byte, at) => bytes[head.length + 8 + at] === byte)
  return isHead && isTail ? bytes.readBigUInt64LE(head.length) : null
}

/** Of both token programs. */
const TRANSFER_CHECKED = 12
