import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { keccak_256 } from '@noble/hashes/sha3.js'
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js'
import { type Anvil, type EvmCall, newEvmAddress } from './anvil.ts'

const SOURCE = new URL('./contracts/payments.sol', import.meta.url)
const WORD = 64

type Compiler = { compile(input: string): string }
type Compiled = {
  readonly errors?: readonly { readonly severity: string; readonly formattedMessage: string }[]
  readonly contracts: {
    readonly [file: string]: {
      readonly [name: string]: { readonly evm: { readonly bytecode: { readonly object: string } } }
    }
  }
}
export type ContractName =
  | 'TestToken'
  | 'BatchPayer'
  | 'PriceTaker'
  | 'Wallet'
  | 'SelfDestruct'
  | 'IssuersGuard'
  | 'UpgradedToken'
  | 'StipendPayer'
  | 'RefusingToken'
  | 'CallingToken'
  | 'SignatureAsker'

let compiled: Promise<Compiled> | null = null

/** Bytecode of a test contract with its constructor's arguments, hex. */
export async function bytecodeOf(name: ContractName, ...args: readonly Argument[]): Promise<string> {
  compiled ??= compile()
  const object = (await compiled).contracts['payments.sol']?.[name]?.evm.bytecode.object
  if (object === undefined) throw new Error(`there is no contract ${name}`)
  return `0x${object}${encode(args)}`
}

async function compile(): Promise<Compiled> {
  const solc = createRequire(import.meta.url)('solc') as Compiler
  const settings = { evmVersion: 'cancun', outputSelection: { '*': { '*': ['evm.bytecode.object'] } } }
  const sources = { 'payments.sol': { content: await readFile(SOURCE, 'utf8') } }
  const result = JSON.parse(
    solc.compile(JSON.stringify({ language: 'Solidity', sources, settings })),
  ) as Compiled
  const fault = result.errors?.find(({ severity }) => severity === 'error')
  if (fault !== undefined) throw new Error(fault.formattedMessage)
  return result
}

/** A word, an address, or a list of either. */
export type Argument = bigint | string | readonly (bigint | string)[]

/** Call data of a function, by its signature (Solidity's ABI). Only static types and lists of them. */
export function callData(signature: string, ...args: readonly Argument[]): string {
  return `0x${bytesToHex(keccak_256(utf8ToBytes(signature))).slice(0, 8)}${encode(args)}`
}

function encode(args: readonly Argument[]): string {
  const tails: string[] = []
  let offset = args.length * (WORD / 2)
  const heads = args.map((arg) => {
    if (!isList(arg)) return word(arg)
    const tail = word(BigInt(arg.length)) + arg.map(word).join('')
    const head = word(BigInt(offset))
    tails.push(tail)
    offset += tail.length / 2
    return head
  })
  return heads.join('') + tails.join('')
}

const isList = (arg: Argument): arg is readonly (bigint | string)[] => Array.isArray(arg)

function word(value: bigint | string): string {
  const digits = typeof value === 'bigint' ? value.toString(16) : value.replace(/^0x/, '')
  return digits.padStart(WORD, '0')
}

/** In what way `UpgradedToken` is odd. */
export const UPGRADES = {
  none: 0n,
  fee: 1n,
  'says no': 2n,
  halved: 3n,
  'other decimals': 4n,
  'other name': 5n,
}

/** Puts a contract that keeps what is stored there before a token; it is given where the token's own code is from now on. */
export async function putBefore(
  anvil: Anvil,
  token: string,
  name: 'IssuersGuard' | 'UpgradedToken',
): Promise<void> {
  const codeOf = (address: string) => anvil.rpc<string>('eth_getCode', [address, 'latest'])
  const behind = newEvmAddress().address
  await anvil.rpc('anvil_setCode', [behind, await codeOf(token)])
  const before = await anvil.deploy(await bytecodeOf(name, behind))
  await anvil.rpc('anvil_setCode', [token, await codeOf(before)])
}

/** The issuer upgrades a token that `UpgradedToken` stands before. */
export async function upgradeToken(anvil: Anvil, token: string, kind: keyof typeof UPGRADES): Promise<void> {
  await anvil.send({ to: token, data: callData('become(uint256)', UPGRADES[kind]) })
  await anvil.mine(1)
}

export type TestToken = {
  readonly contract: string
  mint(to: string, amount: bigint): EvmCall
}

export async function deployTestToken(anvil: Anvil, feeBasisPoints = 0n): Promise<TestToken> {
  const contract = await anvil.deploy(await bytecodeOf('TestToken', feeBasisPoints))
  return {
    contract,
    mint: (to, amount) => ({ to: contract, data: callData('mint(address,uint256)', to, amount) }),
  }
}
