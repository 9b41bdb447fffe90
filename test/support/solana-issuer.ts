import { address, getAddressEncoder } from '@solana/kit'
import { associatedTokenAccount } from '../../src/chain/solana/token-accounts.ts'
import type { AssetId } from '../../src/core/assets.ts'
import type { SolanaMint } from '../../src/core/chain/solana-mints.ts'
import { sandboxMintOf } from '../../src/sandbox/solana/sandbox-mints.ts'
import { lever } from './solana-payer.ts'

/** Both token programs' instructions, and those of the extensions for a fee and a program of the issuer's own. */
const [TRANSFER_CHECKED, FREEZE, THAW] = [12, 10, 11]
const [SET_FEE, SET_HOOK] = [
  [26, 5],
  [36, 1],
]
const DECIMALS = 6

/** What the issuer of the sandbox's tokens may do to them, in a transaction that the next block has. */
export class SolanaIssuer {
  readonly #rpcUrl: string

  constructor(rpcUrl: string) {
    this.#rpcUrl = rpcUrl
  }

  freeze(asset: AssetId, owner: string): Promise<void> {
    return this.#toAccount(asset, owner, [FREEZE])
  }

  thaw(asset: AssetId, owner: string): Promise<void> {
    return this.#toAccount(asset, owner, [THAW])
  }

  /** As its mint's permanent delegate, where it is one, it takes tokens away from an owner. */
  seize(asset: AssetId, owner: string, amount: bigint, to: string): Promise<void> {
    const mint = mintOf(asset)
    const accounts = [associatedTokenAccount(owner, mint), mint.mint, associatedTokenAccount(to, mint)]
    return this.#do(mint, accounts, [TRANSFER_CHECKED, ...u64(amount), DECIMALS])
  }

  /** In parts of 10,000, from the epoch after next on. */
  setFee(asset: AssetId, parts: number): Promise<void> {
    const mint = mintOf(asset)
    return this.#do(mint, [mint.mint], [...SET_FEE, parts & 0xff, parts >> 8, ...u64(1_000_000n)])
  }

  /** Null: none. */
  setHook(asset: AssetId, program: string | null): Promise<void> {
    const mint = mintOf(asset)
    const key = program === null ? new Uint8Array(32) : getAddressEncoder().encode(address(program))
    return this.#do(mint, [mint.mint], [...SET_HOOK, ...key])
  }

  #toAccount(asset: AssetId, owner: string, data: readonly number[]): Promise<void> {
    const mint = mintOf(asset)
    return this.#do(mint, [associatedTokenAccount(owner, mint), mint.mint], data)
  }

  async #do({ program }: SolanaMint, accounts: readonly string[], data: readonly number[]): Promise<void> {
    const params = [program, accounts, Buffer.from(data).toString('base64')]
    const { hex } = (await lever(this.#rpcUrl, 'sandbox_signasissuer', params)) as { hex: string }
    await lever(this.#rpcUrl, 'sendTransaction', [hex, { encoding: 'base64' }])
  }
}

function mintOf(asset: AssetId): SolanaMint {
  const mint = sandboxMintOf(asset)
  if (mint === null) throw new Error(`${asset} has no mint`)
  return mint
}

function u64(value: bigint): number[] {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(value)
  return [...bytes]
}
