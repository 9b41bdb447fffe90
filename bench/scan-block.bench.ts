import { randomBytes } from 'node:crypto'
import { Block } from 'bitcoinjs-lib'
import { expect, test } from 'vitest'
import { hasTransactionsOfHeader, scanBlock } from '../src/chain/utxo/scan-block.ts'
import { makeBlock, setOf, TRANSACTIONS } from './support/block.ts'
import { median, printFigure, spread } from './support/figure.ts'

const BLOCK_BYTES = 1_400_000
const ROUNDS = 101
const MANY = 1_000_000
const FEW = 10
const PAIRS = 21
const PAYING_US = FEW

function measure(work: () => void): number[] {
  for (let round = 0; round < 20; round++) work()
  return Array.from({ length: ROUNDS }, () => {
    const before = performance.now()
    work()
    return performance.now() - before
  })
}

test('scanning a full block costs the same whether ten or a million addresses are watched', () => {
  const ours = Array.from({ length: PAYING_US }, () => randomBytes(20))
  const block = makeBlock(ours)
  expect(block.length).toBeGreaterThan(BLOCK_BYTES)
  const few = setOf(FEW, ours)
  global.gc?.()
  const memoryBefore = process.memoryUsage()
  const many = setOf(MANY, ours)
  global.gc?.()
  const memoryAfter = process.memoryUsage()
  const bytesPerAddress = (memoryAfter.arrayBuffers - memoryBefore.arrayBuffers) / MANY

  expect(scanBlock(block, many).outputs).toHaveLength(PAYING_US)
  const fewMs = measure(() => scanBlock(block, few))
  const manyMs = measure(() => scanBlock(block, many))
  const { spans } = scanBlock(block, many)
  const proofMs = measure(() => hasTransactionsOfHeader(block, spans))
  const megabytes = (block.length / 1e6).toFixed(2)
  printFigure({
    name: `Scan of a ${megabytes} MB block against 1,000,000 addresses`,
    target: '≤10 ms',
    measured: `${median(manyMs).toFixed(2)} ms`,
    detail: `${spread(manyMs)} ms over ${ROUNDS} rounds; proof of the transactions against the header, apart: ${median(proofMs).toFixed(1)} ms`,
  })
  printFigure({
    name: '… ÷ the same against 10 addresses',
    target: '≤1.3',
    measured: (median(manyMs) / median(fewMs)).toFixed(2),
    detail: `${median(fewMs).toFixed(2)} ms, ${spread(fewMs)}`,
  })
  printFigure({
    name: 'Memory of 1,000,000 watched addresses',
    target: '≤60 MB',
    measured: `${((bytesPerAddress * MANY) / 1e6).toFixed(0)} MB`,
  })
})

test('reading a block takes a small part of what bitcoinjs-lib takes to parse it', () => {
  const ours = Array.from({ length: PAYING_US }, () => randomBytes(20))
  const block = makeBlock(ours)
  const watched = setOf(FEW, ours)
  const parse = () => Block.fromBuffer(block)
  expect(parse().transactions).toHaveLength(TRANSACTIONS)
  for (let round = 0; round < 3; round++) {
    parse()
    scanBlock(block, watched)
  }
  const timed = (work: () => unknown) => {
    const before = performance.now()
    work()
    return performance.now() - before
  }
  const pairs = Array.from(
    { length: PAIRS },
    () => [timed(parse), timed(() => scanBlock(block, watched))] as const,
  )
  const ratios = pairs.map(([theirs, own]) => theirs / own)
  printFigure({
    name: 'Parsing a block with bitcoinjs-lib ÷ scanning the same one',
    target: '≥20',
    measured: median(ratios).toFixed(0),
    detail: `${spread(ratios)} over ${PAIRS} pairs; bitcoinjs-lib ${median(pairs.map(([theirs]) => theirs)).toFixed(0)} ms`,
  })
})
