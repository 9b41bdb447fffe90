import { address } from '@solana/kit'
import { afterEach, expect, test } from 'vitest'
import type { ChainDriver, DrivenChain } from '../support/chain-driver.ts'
import { bytecodeOf, callData } from '../support/evm-contracts.ts'
import { type DrivenAnvil, evmDriver } from '../support/evm-driver.ts'
import { seedMerchant } from '../support/seed.ts'
import { type DrivenSolana, solanaDriver } from '../support/solana-driver.ts'
import { until } from '../support/until.ts'
import { WatchedChain } from '../support/watched-chain.ts'

/** On Bitcoin and Litecoin, where it may be replaced as well: `utxo-payments.ts`. */

type Case = {
  readonly driver: ChainDriver
  /** One transaction that pays so much to each; its id. */
  readonly payAll: (chain: DrivenChain, to: readonly string[], amount: bigint) => Promise<string>
}

const CASES: Case[] = [
  {
    driver: evmDriver('ETH'),
    payAll: async (chain, to, amount) => {
      const { anvil } = chain as DrivenAnvil
      const payer = await anvil.deploy(await bytecodeOf('BatchPayer'))
      const data = callData(
        'pay(address[],uint256[])',
        to,
        to.map(() => amount),
      )
      return anvil.send({ to: payer, data, value: amount * BigInt(to.length), gas: 300_000 })
    },
  },
  {
    driver: evmDriver('USDC_BASE'),
    payAll: async (chain, to, amount) => {
      const { anvil, token } = chain as DrivenAnvil
      const data = callData(
        'mintMany(address[],uint256[])',
        to,
        to.map(() => amount),
      )
      return anvil.send({ to: token.contract, data, gas: 300_000 })
    },
  },
  ...(['accounts', 'blocks'] as const).map((way) => ({
    driver: solanaDriver(way),
    payAll: async (chain: DrivenChain, to: readonly string[], amount: bigint) => {
      const { payer } = chain as DrivenSolana
      return payer.send(to.map((each) => payer.transfer(address(each), amount)))
    },
  })),
]

let watched: WatchedChain
afterEach(() => watched?.close())

for (const { driver, payAll } of CASES) {
  test(`one transaction to two merchants leaves and returns for each: ${driver.title}`, async () => {
    watched = await WatchedChain.open(driver)
    const watcher = await watched.watchAtTip()
    const others = await seedMerchant(watched.database)
    const mine = await watched.openInvoice([watcher])
    const theirs = await watched.openInvoice([watcher], {}, others)
    const available = async () => {
      const { rows } = await watched.database.owner.query<{ merchant_id: string; balance: bigint }>(
        `select merchant_id, balance from ledger_balance where account = 'available'`,
      )
      return [watched.tenant, others].map(
        ({ merchantId }) => rows.find((row) => row.merchant_id === merchantId)?.balance ?? 0n,
      )
    }
    const untilAvailable = (amount: bigint) =>
      until(async () => (await available()).every((each) => each === amount), { what: `each has ${amount}` })
    const txid = await payAll(watched.chain, [mine.address, theirs.address], driver.amount)
    await watched.chain.mine(3)
    await untilAvailable(driver.amount)
    await watched.chain.reorganise(3, txid)
    await untilAvailable(0n)
    for (const { id } of [mine, theirs]) await watched.untilStatus(id, 'manual_review')
    await watched.chain.mine(4)
    await untilAvailable(driver.amount)
    for (const { id } of [mine, theirs]) {
      await watched.untilStatus(id, 'paid')
      expect(await watched.paymentsOf(id)).toEqual(['confirmed'])
      const events = await watched.eventsOf(id)
      expect(events.filter((type) => type === 'paid')).toHaveLength(1)
    }
  })
}
