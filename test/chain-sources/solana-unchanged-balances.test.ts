import { address, generateKeyPairSigner, getAddressEncoder, type KeyPairSigner, lamports } from '@solana/kit'
import { getTransferSolInstruction } from '@solana-program/system'
import {
  findAssociatedTokenPda,
  getCreateAssociatedTokenIdempotentInstruction,
  getSyncNativeInstruction,
  TOKEN_PROGRAM_ADDRESS,
} from '@solana-program/token'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import type { ChainUpdate } from '../../src/chain/adapter.ts'
import { SolanaAdapter } from '../../src/chain/solana/solana-adapter.ts'
import { NATIVE_MINT } from '../../src/core/chain/solana-mints.ts'
import type { BlockRef } from '../../src/core/invoice/types.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { type DrivenSolana, solanaDriver } from '../support/solana-driver.ts'

/** More than one of several accounts that hold something needs until its list is read. */
const ROUNDS = 10

const { start, amount } = solanaDriver('accounts')
let chain: DrivenSolana
let adapter: SolanaAdapter
let open: readonly Uint8Array[]
let at: BlockRef

beforeAll(async () => {
  chain = await start()
})
beforeEach(async () => {
  open = []
  adapter = new SolanaAdapter({
    ...(chain.recipe.options as ConstructorParameters<typeof SolanaAdapter>[0]),
    clock: systemClock,
    openAddresses: async () => open,
  })
  await adapter.connect()
  at = await adapter.tip()
})
afterEach(() => adapter.close())
afterAll(() => chain.remove())

test.each([
  ['an open', true],
  ['a closed', false],
])('what is paid to %s checkout beside a sweep of as much is found', async (_, isOpen) => {
  const deposit = await generateKeyPairSigner()
  const addressBytes = bytesOf(deposit)
  adapter.watched.add([addressBytes])
  if (isOpen) open = [addressBytes]
  await chain.payer.pay(deposit.address, amount)
  expect(await read(2)).toEqual([`${amount} SOL`])
  const { signer } = chain.payer
  const sweep = { source: deposit, destination: signer.address, amount: lamports(amount) }
  await chain.payer.send([getTransferSolInstruction(sweep)])
  await chain.mine(1)
  await chain.payer.pay(deposit.address, amount)
  expect(await read(ROUNDS)).toEqual([`${amount} SOL`])
})

test('coins that lie in a token account and are wrapped by a later transaction are found', async () => {
  const deposit = await generateKeyPairSigner()
  const [owner, mint] = [deposit.address, address(NATIVE_MINT)]
  const { payer } = chain
  adapter.watched.add([bytesOf(deposit)])
  open = [bytesOf(deposit)]
  const [ata] = await findAssociatedTokenPda({ owner, mint, tokenProgram: TOKEN_PROGRAM_ADDRESS })
  const account = { payer: payer.signer, ata, owner, mint }
  await payer.send([getCreateAssociatedTokenIdempotentInstruction(account)])
  await payer.send([payer.transfer(ata, amount)])
  expect(await read(2)).toEqual([])
  await payer.send([getSyncNativeInstruction({ account: ata })])
  expect(await read(ROUNDS)).toEqual([`${amount} WSOL`])
})

const bytesOf = (deposit: KeyPairSigner) => Buffer.from(getAddressEncoder().encode(deposit.address))

/** What is found in so many rounds, each at a block of its own. */
async function read(rounds: number): Promise<string[]> {
  const found: string[] = []
  for (let round = 0; round < rounds; round++) {
    await chain.mine(1)
    const update: ChainUpdate | null = await adapter.nextUpdate(at, 100)
    at = update?.blocks.at(-1)?.block ?? at
    const transfers = update?.blocks.flatMap((block) => block.transfers) ?? []
    found.push(...transfers.map((transfer) => `${transfer.amount} ${transfer.asset}`))
  }
  return found
}
