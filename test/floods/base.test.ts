import { hex } from '../support/anvil.ts'
import { callData } from '../support/evm-contracts.ts'
import { evmDriver } from '../support/evm-driver.ts'
import { describeFlood } from './suite.ts'

/** 0.01 USDC, the least that is no dust. */
const UNITS = 10_000n
/** Transfers of one transaction: one receipt of some 4 million units of gas. */
const AT_ONCE = 250
/** In transactions of their own, each a payment; anvil itself takes seconds to report a block of a thousand. */
const ALONE = 200

describeFlood({
  // By balances: anvil traces such a block for ten seconds, which would be all that is measured.
  driver: evmDriver('USDC_BASE', { nativeMode: 'balances' }),
  node: ({ token }) => ({
    chain: 'base',
    rpcSetting: 'TEST_BASE_RPC_URL',
    tokenContracts: { USDC: token.contract },
  }),
  pay: async ({ anvil, token }, address, count) => {
    await anvil.rpc('evm_setBlockGasLimit', [hex(400_000_000n)])
    const alone = Math.min(count, ALONE)
    for (let left = count - alone; left > 0; left -= AT_ONCE) {
      const to = Array.from({ length: Math.min(left, AT_ONCE) }, () => address)
      const amounts = to.map(() => UNITS)
      const data = callData('mintMany(address[],uint256[])', to, amounts)
      await anvil.send({ to: token.contract, data, gas: 12_000_000 })
    }
    for (let left = alone; left > 0; left--) await anvil.send({ ...token.mint(address, UNITS), gas: 100_000 })
    return UNITS * BigInt(count)
  },
  count: 400,
  depth: 3,
  blockMs: 200,
})
