import { randomBytes } from 'node:crypto'
import { AddressSet } from '../../src/chain/address-set.ts'

export const TRANSACTIONS = 4_200

/** A block as a busy chain has it: segwit transactions with two inputs and three outputs, most to P2WPKH. */
export function makeBlock(addresses: readonly Buffer[]): Buffer {
  const parts: Buffer[] = [randomBytes(80), countOf(TRANSACTIONS)]
  for (let index = 0; index < TRANSACTIONS; index++) {
    const ours = addresses[index]
    parts.push(transaction([ours ?? randomBytes(20), randomBytes(20), randomBytes(20)]))
  }
  return Buffer.concat(parts)
}

function transaction(addresses: readonly Buffer[]): Buffer {
  const inputs = [0, 1].map(() => Buffer.concat([randomBytes(36), Buffer.from('00ffffffff', 'hex')]))
  const outputs = addresses.map((addressBytes) =>
    Buffer.concat([Buffer.alloc(8), Buffer.from('160014', 'hex'), addressBytes]),
  )
  const witness = Buffer.concat([
    Buffer.from('0247', 'hex'),
    randomBytes(71),
    Buffer.from('21', 'hex'),
    randomBytes(33),
  ])
  return Buffer.concat([
    Buffer.from('020000000001', 'hex'),
    countOf(inputs.length),
    ...inputs,
    countOf(outputs.length),
    ...outputs,
    ...inputs.map(() => witness),
    Buffer.alloc(4),
  ])
}

function countOf(count: number): Buffer {
  if (count < 0xfd) return Buffer.from([count])
  const bytes = Buffer.alloc(3, 0xfd)
  bytes.writeUInt16LE(count, 1)
  return bytes
}

/** So many watched addresses, ours among them. */
export function setOf(count: number, ours: readonly Buffer[]): AddressSet {
  const set = new AddressSet()
  set.add(ours)
  for (let added = ours.length; added < count; added++) set.add([randomBytes(20)])
  return set
}
