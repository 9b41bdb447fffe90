import { type Address, address, getAddressEncoder, some } from '@solana/kit'
import { getMintEncoder } from '@solana-program/token'
import { ASSETS, type PaymentAsset } from '../../core/assets.ts'
import type { TokenContracts } from '../../core/chain/evm-parameters.ts'
import { type SolanaMint, solanaMintsOf } from '../../core/chain/solana-mints.ts'

/** Mints of test tokens that have none on a public test cluster; all others stand at their issuers' addresses there. */
export const SANDBOX_MINTS: TokenContracts = { USDT: '8kH4ygS5uNyU8cpwqQ5kQfeBjWUqWbzcwkBS2ehyFM9s' }

const MINTS = solanaMintsOf('solana-test', 'test', SANDBOX_MINTS)

export const sandboxMintOf = (asset: PaymentAsset): SolanaMint | null =>
  MINTS.find((each) => each.asset === asset) ?? null

export const sandboxMintAt = (mint: string): SolanaMint | null =>
  MINTS.find((each) => each.mint === mint) ?? null

export const sandboxMints = (): readonly SolanaMint[] => MINTS

/** An account as it is from the chain's beginning. */
export type GivenAccount = {
  readonly address: Address
  readonly programAddress: Address
  readonly data: Uint8Array
}

/** A mint with extensions has as many bytes as a token account before them, and says what it is. */
const EXTENSIONS_AT = 165
const IS_MINT = 1
/** The extensions of PYUSD's mint that say who may do what: a fee, none so far, and who may take tokens back (ExtensionType). */
const EXTENSIONS = { transferFeeConfig: 1, mintCloseAuthority: 3, permanentDelegate: 12, transferHook: 14 }
const FEE_BYTES = 108
const KEY_BYTES = 32

/** The mints of the test tokens; `authority` makes tokens, freezes accounts, and is each extension's. */
export function sandboxMintAccounts(authority: Address): readonly GivenAccount[] {
  return MINTS.flatMap(({ asset, mint, program }): GivenAccount[] => {
    if (asset === 'WSOL') return []
    const { token, decimals } = ASSETS[asset]
    const base = Uint8Array.from(
      getMintEncoder().encode({
        mintAuthority: some(authority),
        supply: 0n,
        decimals,
        isInitialized: true,
        freezeAuthority: some(authority),
      }),
    )
    const data = token?.standard === 'token-2022' ? withExtensions(base, authority) : base
    return [{ address: address(mint), programAddress: address(program), data }]
  })
}

function withExtensions(base: Uint8Array, authority: Address): Uint8Array {
  const key = Uint8Array.from(getAddressEncoder().encode(authority))
  const extensions: readonly (readonly [type: number, data: Uint8Array])[] = [
    [EXTENSIONS.mintCloseAuthority, key],
    [EXTENSIONS.permanentDelegate, key],
    // Who sets the fee and who takes what was kept; then what was kept, and twice the epoch, the most and the share of a fee.
    [EXTENSIONS.transferFeeConfig, filled(FEE_BYTES, key, key)],
    // Who sets the program; then none.
    [EXTENSIONS.transferHook, filled(2 * KEY_BYTES, key)],
  ]
  const head = filled(EXTENSIONS_AT, base)
  const entries = extensions.map(([type, bytes]) => {
    const header = Buffer.alloc(4)
    header.writeUInt16LE(type, 0)
    header.writeUInt16LE(bytes.length, 2)
    return Buffer.concat([header, bytes])
  })
  return new Uint8Array(Buffer.concat([head, Uint8Array.of(IS_MINT), ...entries]))
}

function filled(length: number, ...parts: readonly Uint8Array[]): Buffer {
  const bytes = Buffer.alloc(length)
  Buffer.concat(parts).copy(bytes)
  return bytes
}
