import { getAddressDecoder } from '@solana/kit'
import { expect, test } from 'vitest'
import { mintRefusal, tokenHoldingOf } from './token-state.ts'

const keyOf = (byte: number) => Buffer.alloc(32, byte)
const nameOf = (byte: number) => getAddressDecoder().decode(keyOf(byte))
const program = nameOf(7)
const of = { mint: nameOf(1), program }
const HOOK = 14

/** An account of 165 bytes, and extensions behind the byte that says what it is. */
function account(write: (data: Buffer) => void, ...extensions: readonly (readonly [number, Buffer])[]) {
  const base = Buffer.alloc(165)
  write(base)
  const entries = extensions.flatMap(([type, bytes]) => {
    const header = Buffer.alloc(4)
    header.writeUInt16LE(type, 0)
    header.writeUInt16LE(bytes.length, 2)
    return [header, bytes]
  })
  const data =
    extensions.length === 0 ? base : Buffer.concat([base, Buffer.of(2), ...entries, Buffer.alloc(8)])
  return { lamports: 1n, owner: program, data }
}

const holding = (state: number, ...extensions: readonly (readonly [number, Buffer])[]) =>
  account(
    (data) => {
      keyOf(1).copy(data, 0)
      keyOf(2).copy(data, 32)
      data.writeBigUInt64LE(5n, 64)
      data[108] = state
    },
    ...extensions,
  )

test('a token account says whose it is, what it holds, and whether it takes transfers', () => {
  const open = { owner: nameOf(2), amount: 5n, isFrozen: false, wantsMemo: false }
  expect(tokenHoldingOf(holding(1), of)).toEqual(open)
  expect(tokenHoldingOf(holding(2), of)).toEqual({ ...open, isFrozen: true })
  const immutableOwner = [7, Buffer.alloc(0)] as const
  const wantsMemo = (byte: number) => [8, Buffer.of(byte)] as const
  expect(tokenHoldingOf(holding(1, immutableOwner, wantsMemo(1)), of)).toEqual({ ...open, wantsMemo: true })
  expect(tokenHoldingOf(holding(1, immutableOwner, wantsMemo(0)), of)).toEqual(open)
})

test('what is of another mint or program, not open yet, or no account is no token account', () => {
  expect(tokenHoldingOf(null, of)).toBeNull()
  expect(tokenHoldingOf(holding(0), of)).toBeNull()
  expect(tokenHoldingOf(holding(1), { ...of, mint: nameOf(3) })).toBeNull()
  expect(tokenHoldingOf({ ...holding(1), owner: nameOf(8) }, of)).toBeNull()
  expect(tokenHoldingOf({ ...holding(1), data: Buffer.alloc(80) }, of)).toBeNull()
})

test('a mint of which nothing can be moved whole says why', () => {
  const mint = (...extensions: readonly (readonly [number, Buffer])[]) =>
    account(
      (data) => {
        data[44] = 6
        data[45] = 1
      },
      ...extensions,
    )
  const why = (...extensions: readonly (readonly [number, Buffer])[]) =>
    mintRefusal(mint(...extensions), { program, decimals: 6 })
  const fee = (at: number) => {
    const config = Buffer.alloc(108)
    config.writeUInt16LE(1, at)
    return [1, config] as const
  }
  expect(why()).toBeNull()
  expect(why([1, Buffer.alloc(108)], [HOOK, Buffer.alloc(64)], [26, Buffer.alloc(33)])).toBeNull()
  for (const at of [88, 106]) expect(why(fee(at))).toBe('its issuer takes a fee of each transfer')
  expect(why([1, Buffer.alloc(60)])).toBe('its issuer takes a fee of each transfer')
  expect(why([HOOK, Buffer.concat([keyOf(0), keyOf(9)])])).toBe(
    'its issuer runs a program of its own with each transfer',
  )
  expect(why([26, Buffer.concat([keyOf(1), Buffer.of(1)])])).toBe('its issuer has paused it')
  expect(why([9, Buffer.alloc(0)])).toBe('it cannot be transferred')
  expect(mintRefusal(mint(), { program, decimals: 9 })).toBe('it is another mint')
  expect(mintRefusal(null, { program, decimals: 6 })).toBe('there is no such mint')
  expect(mintRefusal({ ...mint(), owner: nameOf(8) }, { program, decimals: 6 })).toBe('there is no such mint')
})
