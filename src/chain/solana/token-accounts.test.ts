import { createHash } from 'node:crypto'
import { address, getAddressDecoder, isOffCurveAddress } from '@solana/kit'
import { findAssociatedTokenPda } from '@solana-program/token'
import { expect, test } from 'vitest'
import { solanaMintsOf } from '../../core/chain/solana-mints.ts'
import { isOnCurve } from './curve-points.ts'
import { associatedTokenAccount } from './token-accounts.ts'

const bytesOf = (nth: number) => createHash('sha256').update(`${nth}`).digest()
const ownerAt = (nth: number) => getAddressDecoder().decode(bytesOf(nth))

test('the account of an owner and a mint is the one that the stock client derives', async () => {
  for (const of of solanaMintsOf('solana-live', 'live', {})) {
    for (let nth = 0; nth < 40; nth++) {
      const seeds = { mint: address(of.mint), tokenProgram: address(of.program), owner: ownerAt(nth) }
      const [expected] = await findAssociatedTokenPda(seeds)
      expect(associatedTokenAccount(ownerAt(nth), of)).toBe(expected)
    }
  }
})

test('bytes are a point of the curve where the stock client says so, at its edges too', () => {
  const edge = (first: number, last: number) => Uint8Array.from([first, ...new Uint8Array(30), last])
  const edges = [edge(1, 0), edge(1, 0x80), edge(0, 0), edge(0, 0x80), new Uint8Array(32).fill(255)]
  const all = [...edges, ...Array.from({ length: 1_000 }, (_, nth) => bytesOf(nth))]
  const differing = all.filter((bytes) => {
    return isOnCurve(bytes) === isOffCurveAddress(getAddressDecoder().decode(bytes))
  })
  expect(differing).toEqual([])
})
