import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { AddressSet } from '../address-set.ts'
import { scanBlock } from './scan-block.ts'

/** A transaction with one input, and outputs of 1, 2, … base units to these witness programs. */
function transaction(programs: readonly Uint8Array[], hasWitness: boolean): Buffer {
  const outputs = programs.map((program, index) => {
    const amount = Buffer.alloc(8)
    amount.writeUInt32LE(index + 1)
    return Buffer.concat([amount, Buffer.from([program.length + 2, 0, program.length]), program])
  })
  return Buffer.concat([
    Buffer.from(hasWitness ? '020000000001' : '02000000', 'hex'),
    Buffer.from([1]),
    randomBytes(36),
    Buffer.from('00ffffffff', 'hex'),
    Buffer.from([outputs.length]),
    ...outputs,
    Buffer.from(hasWitness ? '010102' : '', 'hex'),
    Buffer.alloc(4),
  ])
}

test('every output that pays a watched address is found once, in its order, however many a block has', () => {
  const watched = new AddressSet()
  const ours = Array.from({ length: 300 }, (_, index) => randomBytes(index % 3 === 0 ? 32 : 20))
  watched.add(ours)
  for (const transactions of [1, 85, 86, 200, 256]) {
    const expected: { addressBytes: string; amount: bigint; minimumConfirmations: number }[] = []
    const paying = Array.from({ length: transactions }, (_, at) => {
      // Three in four pay somebody else; a transaction may pay us twice, and one address again.
      const programs = Array.from({ length: 3 }, (_, index) => {
        const program = ours[(at * 7 + index) % 1_200] ?? randomBytes(index === 2 ? 32 : 20)
        const addressBytes = Buffer.from(program).toString('hex')
        const minimumConfirmations = at === 0 ? 100 : 1
        if (ours.includes(program))
          expected.push({ addressBytes, amount: BigInt(index + 1), minimumConfirmations })
        return program
      })
      return transaction(programs, at % 2 === 0)
    })
    const count =
      transactions < 0xfd
        ? Buffer.from([transactions])
        : Buffer.from([0xfd, transactions & 255, transactions >> 8])
    const { outputs, spans } = scanBlock(Buffer.concat([randomBytes(80), count, ...paying]), watched)
    expect(spans).toHaveLength(transactions)
    expect(outputs.map(({ txid: _txid, outputIndex: _index, ...output }) => output)).toEqual(expected)
    expect(outputs.every(({ outputIndex, amount }) => amount === BigInt(outputIndex + 1))).toBe(true)
    expect(new Set(outputs.map(({ txid, outputIndex }) => `${txid} ${outputIndex}`)).size).toBe(
      outputs.length,
    )
  }
})
