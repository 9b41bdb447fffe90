import { describe, expect, test } from 'vitest'
import { miningHash, sha256d, toDisplayHex } from '../../chain/utxo/hashes.ts'
import { isPermittedChange, targetOf, workFault, workOf } from './header-work.ts'
import { type UtxoChain, utxoParametersOf } from './utxo-parameters.ts'

const rulesOf = (chain: UtxoChain, name: string) => {
  const parameters = utxoParametersOf(chain, name)
  if (parameters === null) throw new Error(`no ${chain} ${name}`)
  return parameters.work
}

/** Genesis blocks as the chains' own parameters build them (`CreateGenesisBlock`). */
const GENESIS = [
  {
    chain: 'bitcoin',
    root: '4a5e1e4baab89f3a32518a88c31bc87f618f76673e2cc77ab2127b7afdeda33b',
    time: 1_231_006_505,
    bits: 0x1d00_ffff,
    nonce: 2_083_236_893,
  },
  {
    chain: 'litecoin',
    root: '97ddfbbae6be97fd6cdf3e7ca13232a3afff2353e29badfab7f73011edd4ced9',
    time: 1_317_972_665,
    bits: 0x1e0f_fff0,
    nonce: 2_084_524_493,
  },
] as const

describe.each(GENESIS)('the genesis block of $chain', ({ chain, root, time, bits, nonce }) => {
  const header = (changed = nonce as number) => {
    const bytes = Buffer.alloc(80)
    bytes.writeUInt32LE(1, 0)
    Buffer.from(root, 'hex').reverse().copy(bytes, 36)
    for (const [index, field] of [time, bits, changed].entries()) bytes.writeUInt32LE(field, 68 + 4 * index)
    return bytes
  }
  const rules = { ...rulesOf(chain, 'main'), leastWork: null }

  test('has its work, and with another nonce has none', () => {
    expect(toDisplayHex(sha256d(header()))).toBe(utxoParametersOf(chain, 'main')?.genesisHash)
    expect(workFault({ bits, hash: miningHash(chain, header()) }, rules)).toBeNull()
    expect(workFault({ bits, hash: miningHash(chain, header(nonce + 1)) }, rules)).toMatch(
      /does not have the proof of work/,
    )
  })

  test('is far too easy for a block of today', () => {
    const hash = miningHash(chain, header())
    expect(workFault({ bits, hash }, rulesOf(chain, 'main'))).toMatch(/less proof of work than any block/)
  })
})

test('a target is read from bits as nodes read it', () => {
  expect(targetOf(0x1d00_ffff)).toBe(0xffffn << 208n)
  expect(targetOf(0x0312_3456)).toBe(0x12_3456n)
  expect(targetOf(0x0212_3456)).toBe(0x1234n)
  // Zero, negative, and above 2^256.
  for (const bits of [0, 0x1d00_0000, 0x0180_0001 + 0x01_0000, 0x1d80_ffff, 0x2300_0001, 0xff12_3456])
    expect(targetOf(bits)).toBeNull()
})

test('a target above the limit of the chain is refused, however low the hash', () => {
  expect(workFault({ bits: 0x207f_ffff, hash: 1n }, rulesOf('bitcoin', 'main'))).toMatch(/does not allow/)
  expect(workFault({ bits: 0x207f_ffff, hash: 1n }, rulesOf('litecoin', 'main'))).toMatch(/does not allow/)
  expect(workFault({ bits: 0x1d00_ffff, hash: 1n }, rulesOf('bitcoin', 'signet'))).toBeNull()
  expect(workFault({ bits: 0x1e03_77ae, hash: 1n }, rulesOf('bitcoin', 'signet'))).toBeNull()
  expect(workFault({ bits: 0x1e03_77af, hash: 1n }, rulesOf('bitcoin', 'signet'))).toMatch(/does not allow/)
  expect(workFault({ bits: 0x207f_ffff, hash: 1n }, rulesOf('bitcoin', 'regtest'))).toBeNull()
})

test('the least work is the average that the chains state', () => {
  expect(Number(rulesOf('bitcoin', 'main').leastWork) / 3.75e22).toBeCloseTo(1, 2)
  expect(Number(rulesOf('litecoin', 'main').leastWork) / 3.475e16).toBeCloseTo(1, 2)
  expect(workOf(targetOf(0x1d00_ffff) ?? 0n)).toBe(0x1_0001_0001n)
})

describe('the difficulty of the next block', () => {
  const main = rulesOf('bitcoin', 'main')
  const change = (height: number, from: number, to: number, rules = main) =>
    isPermittedChange(rules, { height, from, to })

  test('stays within a period', () => {
    expect(change(2_017, 0x1c05_a3f4, 0x1c05_a3f4)).toBe(true)
    expect(change(2_017, 0x1c05_a3f4, 0x1c05_a3f3)).toBe(false)
    expect(change(2_017, 0x1c05_a3f4, 0x1d00_ffff)).toBe(false)
  })

  // Vectors of Bitcoin Core's src/test/pow_tests.cpp: the limits of one change, rounded as `bits` are.
  test('changes by four at most where a period begins', () => {
    expect(change(68_544, 0x1c05_a3f4, 0x1c01_68fd)).toBe(true)
    expect(change(68_544, 0x1c05_a3f4, 0x1c01_68fc)).toBe(false)
    expect(change(46_368, 0x1c38_7f6f, 0x1d00_e1fd)).toBe(true)
    expect(change(46_368, 0x1c38_7f6f, 0x1d00_e1fe)).toBe(false)
    expect(change(32_256, 0x1d00_ffff, 0x1d00_d86a)).toBe(true)
  })

  test('is no lower than the limit of the chain', () => {
    expect(change(2_016, 0x1d00_ffff, 0x1d00_ffff)).toBe(true)
    expect(change(2_016, 0x1d00_ffff, 0x1d01_0000)).toBe(false)
  })

  test('is free on chains that let blocks be easy', () => {
    expect(change(2_017, 0x1c05_a3f4, 0x1d00_ffff, rulesOf('bitcoin', 'test'))).toBe(true)
    expect(change(2_017, 0x1c05_a3f4, 0x1d00_ffff, rulesOf('bitcoin', 'signet'))).toBe(false)
  })
})
