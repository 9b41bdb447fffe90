import { randomBytes } from 'node:crypto'
import { encodeAddress } from '../../src/chain/utxo/address.ts'
import { utxoParametersOf } from '../../src/core/chain/utxo-parameters.ts'
import type { NodeChainName } from '../support/daemons.ts'
import { coinsOf, type DrivenNode, settingOf, utxoDriver } from '../support/utxo-driver.ts'
import type { Flood } from './suite.ts'

/** The least that a node relays is 294 sat, and on Litecoin, whose dust fee is ten times as high, 2,940 litoshi. */
const UNITS = 3_000n
const SEGWIT_SCRIPT = '160014'

/** One transaction with so many outputs to one address. */
export function utxoFlood(chain: NodeChainName): Flood<DrivenNode> {
  const driver = utxoDriver(chain)
  return {
    // The node's wallet would spend what it pays to addresses of its own.
    driver: {
      ...driver,
      start: async () => ({ ...(await driver.start()), newAddress: () => newAddress(chain) }),
    },
    node: () => ({ chain, rpcSetting: settingOf(chain), tokenContracts: {} }),
    pay: async ({ node }, address, count) => {
      if (count === 1) {
        await node.pay(address, coinsOf(UNITS))
        return UNITS
      }
      const script = `${SEGWIT_SCRIPT}${(await node.addressBytesOf(address)).toString('hex')}`
      const value = Buffer.alloc(8)
      value.writeBigUInt64LE(UNITS)
      const number = Buffer.from(count < 0xfd ? [count] : [0xfd, count & 0xff, count >> 8]).toString('hex')
      const outputs = `${value.toString('hex')}${script}`.repeat(count)
      await node.sendFunded(`0200000000${number}${outputs}00000000`)
      return UNITS * BigInt(count)
    },
    count: 3_000,
    depth: 0,
  }
}

async function newAddress(chain: NodeChainName): Promise<{ address: string; addressBytes: Buffer }> {
  const addressBytes = randomBytes(20)
  return { address: encodeAddress(utxoParametersOf(chain, 'regtest')?.hrp ?? '', addressBytes), addressBytes }
}
