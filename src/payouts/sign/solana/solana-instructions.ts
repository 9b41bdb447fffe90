import {
  AccountRole,
  type Address,
  address,
  getAddressEncoder,
  type Instruction,
  type TransactionSigner,
} from '@solana/kit'
import { NONCE_BYTES } from '../../../chain/solana/durable-nonce.ts'

/** Instructions of Solana's system program (SystemInstruction of the SDK): little-endian, the number first. */
export const SYSTEM_PROGRAM = address('11111111111111111111111111111111')
const RECENT_BLOCKHASHES = address('SysvarRecentB1ockHashes11111111111111111111')
const RENT = address('SysvarRent111111111111111111111111111111111')
const COMPUTE_BUDGET = address('ComputeBudget111111111111111111111111111111')
const TRANSFER = 2
const CREATE_ACCOUNT_WITH_SEED = 3
const INITIALIZE_NONCE = 6
const SET_UNIT_LIMIT = 2
const SET_UNIT_PRICE = 3

export function transferOf(from: TransactionSigner, to: Address, lamports: bigint): Instruction {
  return {
    programAddress: SYSTEM_PROGRAM,
    accounts: [writableSigner(from), { address: to, role: AccountRole.WRITABLE }],
    data: bytesOf([u32(TRANSFER), u64(lamports)]),
  }
}

/** Makes the account of a nonce at the address that `seed` gives below its authority, who pays for it. */
export function makeNonceOf(
  authority: TransactionSigner,
  nonce: { readonly account: Address; readonly seed: string; readonly lamports: bigint },
): Instruction[] {
  const owner = getAddressEncoder().encode(authority.address)
  const seed = new TextEncoder().encode(nonce.seed)
  const create = [
    u32(CREATE_ACCOUNT_WITH_SEED),
    owner,
    u64(BigInt(seed.length)),
    seed,
    u64(nonce.lamports),
    u64(BigInt(NONCE_BYTES)),
    getAddressEncoder().encode(SYSTEM_PROGRAM),
  ]
  const account = { address: nonce.account, role: AccountRole.WRITABLE }
  return [
    {
      programAddress: SYSTEM_PROGRAM,
      accounts: [writableSigner(authority), account],
      data: bytesOf(create),
    },
    {
      programAddress: SYSTEM_PROGRAM,
      accounts: [
        account,
        { address: RECENT_BLOCKHASHES, role: AccountRole.READONLY },
        { address: RENT, role: AccountRole.READONLY },
      ],
      data: bytesOf([u32(INITIALIZE_NONCE), owner]),
    },
  ]
}

/** So many compute units at most, at this price in millionths of a lamport each. */
export function computeBudgetOf(units: number, price: number): Instruction[] {
  return [
    { programAddress: COMPUTE_BUDGET, data: bytesOf([Uint8Array.of(SET_UNIT_LIMIT), u32(units)]) },
    { programAddress: COMPUTE_BUDGET, data: bytesOf([Uint8Array.of(SET_UNIT_PRICE), u64(BigInt(price))]) },
  ]
}

const writableSigner = (signer: TransactionSigner) => ({
  address: signer.address,
  role: AccountRole.WRITABLE_SIGNER,
  signer,
})

const bytesOf = (parts: readonly ArrayLike<number>[]): Uint8Array =>
  Uint8Array.from(parts.flatMap((part) => Array.from(part)))

function u32(value: number): Uint8Array {
  const bytes = new Uint8Array(4)
  new DataView(bytes.buffer).setUint32(0, value, true)
  return bytes
}

function u64(value: bigint): Uint8Array {
  const bytes = new Uint8Array(8)
  new DataView(bytes.buffer).setBigUint64(0, value, true)
  return bytes
}
