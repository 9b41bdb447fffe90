import { createHash } from 'node:crypto'
import { address, getAddressDecoder } from '@solana/kit'
import { findAssociatedTokenPda } from '@solana-program/token'
import { expect, test } from 'vitest'
import { solanaMintsOf } from '../../core/chain/solana-mints.ts'
import { associatedTokenAccount } from './token-accounts.ts'

const bytesOf = (nth: number) => createHash('sha256').update(`${nth}`).digest()
const ownerAt = (nth: number) => getAddressDecoder().decode(bytesOf(nth))

test('the account of an owner and a mint is the one that the stock client derives', async () => {
  for (const of of solanaMintsOf('solana-live', 'live', {})) {
    for (let nth = 0; nth < 100; nth++) {
      const seeds = { mint: address(of.mint), tokenProgram: address(of.program), owner: ownerAt(nth) }
      const [expected] = await findAssociatedTokenPda(seeds)
      expect(associatedTokenAccount(ownerAt(nth), of)).toBe(expected)
    }
  }
})
