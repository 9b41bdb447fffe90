import { expect, test } from 'vitest'
import type { BlockRef } from '../../core/invoice/types.ts'
import type { BlockSource, ReadBlock } from './block-source.ts'
import { ChainWalk } from './chain-walk.ts'
import type { HeaderAnswer } from './node-answers.ts'

const TIP = 300

/** A node on a branch that begins above the fork, and that has never heard of any other. */
class Node implements BlockSource {
  forkHeight = TIP
  branch = 'a'
  height = TIP

  readonly #nameAt = (height: number): string =>
    `${height > this.forkHeight ? this.branch : 0}${height.toString(16).padStart(63, '0')}`
  readonly #heightOf = (hash: string): number => Number.parseInt(hash.slice(1), 16)

  bestHash = async () => this.#nameAt(this.height)
  hashAt = async (height: number) => this.#nameAt(height)
  hashesAt = async (heights: readonly number[]) => heights.map(this.#nameAt)
  header = async (hash: string): Promise<HeaderAnswer | null> => {
    const height = this.#heightOf(hash)
    if (this.#nameAt(height) !== hash) return null
    return { hash, height, time: height, confirmations: 1, previousblockhash: this.#nameAt(height - 1) }
  }
  readBlock = async (hash: string): Promise<ReadBlock> => {
    const height = this.#heightOf(hash)
    return { hash, parentHash: this.#nameAt(height - 1), timeMs: height * 1_000, outputs: [] }
  }
  readBlocks = (hashes: readonly string[]) => Promise.all(hashes.map(this.readBlock))
  wasDeclaredInvalid = async () => false
}

/** A walk that has come to the tip from so many blocks below, and then the node of it is another one. */
async function walked(
  steps: number,
  forkDepth: number,
): Promise<{ walk: ChainWalk; node: Node; at: BlockRef }> {
  const node = new Node()
  const walk = new ChainWalk(node, 'LTC')
  const from = TIP - steps
  let at: BlockRef = { height: from, hash: await node.hashAt(from), timeMs: 0 }
  for (let update = await walk.next(at, 10); update !== null; update = await walk.next(at, 10))
    at = update.blocks.at(-1)?.block ?? at
  expect(at.height).toBe(TIP)
  node.forkHeight = TIP - forkDepth
  node.branch = 'b'
  node.height = TIP + 2
  return { walk, node, at }
}

test.each([1, 99, 100])(
  'a fork %i blocks deep is joined at the very block that both chains share',
  async (depth) => {
    const { walk, at } = await walked(150, depth)
    const update = await walk.next(at, 10)
    expect(update?.ancestor.height).toBe(TIP - depth)
    expect(update?.isAncestorAssumed).toBeUndefined()
    expect(update?.blocks).toHaveLength(depth + 2)
  },
)

test('a fork deeper than any reorganisation halts who remembers the way, and is never joined in the middle', async () => {
  const { walk, at } = await walked(150, 101)
  await expect(walk.next(at, 10)).rejects.toThrow(/left the chain more than 100 blocks below 300/)
})

test('who does not remember the way says that the block where it joins is assumed', async () => {
  const { walk, at } = await walked(20, 101)
  const update = await walk.next(at, 10)
  expect(update).toMatchObject({ isAncestorAssumed: true, ancestor: { height: TIP - 100 } })
})

test('a fork where somebody else read on is never joined at what was remembered from before', async () => {
  const node = new Node()
  const walk = new ChainWalk(node, 'LTC')
  const refAt = async (height: number): Promise<BlockRef> => ({
    height,
    hash: await node.hashAt(height),
    timeMs: 0,
  })
  node.height = 20
  await walk.next(await refAt(10), 10)
  node.height = TIP
  await walk.next(await refAt(TIP - 5), 10)
  const at = await refAt(TIP)
  node.forkHeight = TIP - 30
  node.branch = 'b'
  node.height = TIP + 2
  const update = await walk.next(at, 10)
  expect(update).toMatchObject({ isAncestorAssumed: true, ancestor: { height: TIP - 100 } })
})

test('a node that gives a block below another height than it has halts', async () => {
  const { walk, node, at } = await walked(20, 101)
  const { header } = node
  node.header = async (hash) => {
    const given = await header(hash)
    return given === null || given.height === node.height ? given : { ...given, height: given.height + 1 }
  }
  await expect(walk.next(at, 10)).rejects.toThrow(/the height 201, and it stands at 200/)
})
