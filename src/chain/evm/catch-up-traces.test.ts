import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { AddressSet } from '../address-set.ts'
import type { BlockTraces } from './block-traces.ts'
import { CatchUpTraces } from './catch-up-traces.ts'
import type { EvmBlock } from './evm-answers.ts'
import type { EvmNode } from './evm-node.ts'

const ADDRESS = `0x${'ab'.repeat(20)}`
const STRANGER = `0x${'cd'.repeat(20)}`
const hashOf = (height: number) => `0x${height.toString(16).padStart(64, '0')}`

/** A contract pays 1 to the address in each of them, so that it then holds as much as the block's height. */
const blocks = Array.from({ length: 16 }, (_, index): EvmBlock => {
  const number = index + 1
  const hash = hashOf(1_000 + number)
  return {
    number,
    hash: hashOf(number),
    parentHash: hashOf(index),
    timestamp: number,
    logsBloom: '0x',
    receiptsRoot: hashOf(0),
    miner: STRANGER,
    transactions: [hash],
    sent: [{ hash, from: STRANGER, to: STRANGER, value: 1n }],
  }
})

test('where contracts pay in every block, several are traced at a time', async () => {
  const watched = new AddressSet()
  watched.add([Buffer.from(ADDRESS.slice(2), 'hex')])
  let [inFlight, most] = [0, 0]
  const slowly = async <Answer>(answer: Answer): Promise<Answer> => {
    inFlight += 1
    most = Math.max(most, inFlight)
    await setImmediate()
    inFlight -= 1
    return answer
  }
  const node = {
    balancesPerCall: 15_000,
    balancesAt: async (hash: string, addresses: readonly unknown[]) => addresses.map(() => BigInt(hash)),
  } as unknown as EvmNode
  const held = (amount: number) => ({ [ADDRESS]: { balance: BigInt(amount) } })
  const traces = {
    notice: null,
    of: ({ number }: EvmBlock) => slowly([{ result: { pre: held(number - 1), post: held(number) } }]),
  } as unknown as BlockTraces
  const found = await new CatchUpTraces({ node, traces, asset: 'ETH', watched }).creditsIn(blocks)
  expect(found?.map((credits) => credits.map(({ txid, amount }) => [txid, amount]))).toEqual(
    blocks.map(({ transactions }) => [[transactions[0], 1n]]),
  )
  expect(most).toBe(4)
})
