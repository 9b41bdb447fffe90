import type { Coin } from './coins.ts'

/** Bitcoin Core's error codes (`rpc/protocol.h`), as far as the sandbox uses them. */
export const RPC_ERRORS = {
  misc: -1,
  notFound: -5,
  invalidParameter: -8,
  decodeFailed: -22,
  warmingUp: -28,
  invalidRequest: -32600,
  methodNotFound: -32601,
  parse: -32700,
} as const

/** A method's refusal, as a JSON-RPC error. */
export class RpcError extends Error {
  override name = 'RpcError'
  readonly code: number

  constructor(code: number, message: string) {
    super(message)
    this.code = code
  }
}

export type Params = readonly unknown[]

/** 64 hex digits, lower case. */
export function hashParam(params: Params, position: number, name: string): string {
  const text = stringParam(params, position)
  if (text.length !== 64) {
    throw new RpcError(
      RPC_ERRORS.invalidParameter,
      `${name} must be of length 64 (not ${text.length}, for '${text.slice(0, 100)}')`,
    )
  }
  if (!/^[0-9a-fA-F]{64}$/.test(text)) {
    throw new RpcError(RPC_ERRORS.invalidParameter, `${name} must be hexadecimal string (not '${text}')`)
  }
  return text.toLowerCase()
}

export function stringParam(params: Params, position: number): string {
  const value = params[position]
  if (typeof value !== 'string') throw wrongType('a string')
  return value
}

export function integerParam(params: Params, position: number): number {
  const value = params[position]
  if (typeof value !== 'number' || !Number.isSafeInteger(value)) throw wrongType('an integer')
  return value
}

/** A boolean, or 0 or 1 as old callers send it; the default where it is absent or null. */
export function flagParam(params: Params, position: number, absent: boolean): boolean {
  const value = params[position]
  if (value === undefined || value === null) return absent
  if (typeof value === 'boolean') return value
  if (value === 0 || value === 1) return value === 1
  throw wrongType('a boolean')
}

/** Bytes of a hex string that is to be a transaction. */
export function transactionParam(value: unknown): Buffer {
  if (typeof value !== 'string') throw wrongType('a string')
  if (value === '' || value.length % 2 !== 0 || !/^[0-9a-fA-F]*$/.test(value)) throw undecodable()
  return Buffer.from(value, 'hex')
}

export const undecodable = (): RpcError =>
  new RpcError(RPC_ERRORS.decodeFailed, 'TX decode failed. Make sure the tx has at least one input.')

const wrongType = (expected: string): RpcError =>
  new RpcError(RPC_ERRORS.misc, `JSON value is not ${expected} as expected`)

/**
 * Base units as the number of coins that Bitcoin Core's JSON has. All that exists is below 2⁵³ base units, so
 * eight decimals come out as they should.
 */
export const coinsOf = (amount: Coin['amount']): number => Number(amount) / 1e8
