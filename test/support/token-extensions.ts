import {
  AccountRole,
  type Address,
  address,
  generateKeyPairSigner,
  getAddressEncoder,
  type Instruction,
  type KeyPairSigner,
} from '@solana/kit'
import { getCreateAccountInstruction } from '@solana-program/system'
import {
  findAssociatedTokenPda,
  getCreateAssociatedTokenIdempotentInstruction,
  getInitializeMint2Instruction,
  getMintToInstruction,
  getTransferCheckedInstruction,
} from '@solana-program/token'
import type { SolanaPayer } from './solana-payer.ts'

/** By hand, as spl-token-2022's `TokenInstruction` lays them out: the stock client of this program needs Node 24. */
export const TOKEN_EXTENSIONS_PROGRAM = address('TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb')
const DECIMALS = 6
/** A mint with extensions: as many bytes as a token account has, one that says what it is, then a header for each. */
const BASE_BYTES = 166
const HEADER_BYTES = 4

type Extension =
  | { readonly kind: 'fee'; readonly basisPoints: number }
  | { readonly kind: 'hook'; readonly program: Address }
  | { readonly kind: 'delegate'; readonly delegate: Address }
  | { readonly kind: 'frozen' }

const bytesOf = (key: Address) => Uint8Array.from(getAddressEncoder().encode(key))

/** The bytes that an extension takes, and those of the instruction that sets it up. */
function layoutOf(extension: Extension, authority: Address): { space: number; data: Uint8Array } {
  switch (extension.kind) {
    case 'fee': {
      const figures = Buffer.alloc(10)
      figures.writeUInt16LE(extension.basisPoints, 0)
      figures.writeBigUInt64LE(2n ** 64n - 1n, 2)
      const some = [1, ...bytesOf(authority)]
      return { space: 108, data: Uint8Array.from([26, 0, ...some, ...some, ...figures]) }
    }
    case 'hook':
      return {
        space: 64,
        data: Uint8Array.from([36, 0, ...bytesOf(authority), ...bytesOf(extension.program)]),
      }
    case 'delegate':
      return { space: 32, data: Uint8Array.from([35, ...bytesOf(extension.delegate)]) }
    case 'frozen':
      return { space: 1, data: Uint8Array.from([28, 0, 2]) }
  }
}

/** A mint of the payer's own, with these extensions. */
export async function makeMint(payer: SolanaPayer, extensions: readonly Extension[]): Promise<Address> {
  const mint = await generateKeyPairSigner()
  const layouts = extensions.map((each) => layoutOf(each, payer.signer.address))
  const space = BigInt(BASE_BYTES + layouts.reduce((sum, each) => sum + HEADER_BYTES + each.space, 0))
  const rent = await payer.client.getMinimumBalanceForRentExemption(space).send()
  const programAddress = TOKEN_EXTENSIONS_PROGRAM
  const accounts = [{ address: mint.address, role: AccountRole.WRITABLE }]
  const authority = payer.signer.address
  await payer.send([
    getCreateAccountInstruction({
      payer: payer.signer,
      newAccount: mint,
      lamports: rent,
      space,
      programAddress,
    }),
    ...layouts.map(({ data }) => ({ programAddress, accounts, data })),
    getInitializeMint2Instruction(
      { mint: mint.address, decimals: DECIMALS, mintAuthority: authority, freezeAuthority: authority },
      { programAddress },
    ),
  ])
  await payer.mine(1)
  return mint.address
}

/** The account where wallets put an owner's tokens of such a mint, and what makes it. */
export async function accountOf(payer: SolanaPayer, mint: Address, owner: Address) {
  const tokenProgram = TOKEN_EXTENSIONS_PROGRAM
  const [ata] = await findAssociatedTokenPda({ owner, mint, tokenProgram })
  const create = getCreateAssociatedTokenIdempotentInstruction({
    payer: payer.signer,
    ata,
    owner,
    mint,
    tokenProgram,
  })
  return { ata, create }
}

/** New tokens in the payer's own account. */
export async function makeTokens(
  payer: SolanaPayer,
  mint: Address,
  amount: bigint,
): Promise<readonly Instruction[]> {
  const own = await accountOf(payer, mint, payer.signer.address)
  const made = { mint, token: own.ata, mintAuthority: payer.signer, amount }
  return [own.create, getMintToInstruction(made, { programAddress: TOKEN_EXTENSIONS_PROGRAM })]
}

/** From account to account, by the holder or whoever else may. */
export const move = (
  mint: Address,
  [source, destination]: readonly [Address, Address],
  authority: KeyPairSigner,
  amount: bigint,
): Instruction =>
  getTransferCheckedInstruction(
    { source, mint, destination, authority, amount, decimals: DECIMALS },
    { programAddress: TOKEN_EXTENSIONS_PROGRAM },
  )
