import { solanaDriver } from '../support/solana-driver.ts'
import { describeFlood } from './suite.ts'

/** What an account needs to exist at all. Each payment is of another amount: two that are alike would be one transaction. */
let amount = 890_880n

describeFlood({
  driver: solanaDriver('blocks'),
  node: () => ({ chain: 'solana', rpcSetting: 'TEST_SOLANA_RPC_URL', tokenContracts: {} }),
  pay: async (chain, address, count) => {
    let sum = 0n
    for (let left = count; left > 0; left--) {
      await chain.pay(address, ++amount)
      sum += amount
    }
    return sum
  },
  count: 300,
  depth: 3,
  blockMs: 400,
})
