import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { SOLANA_CODES, SolanaCallFailed, SolanaRpc } from '../../src/chain/solana/solana-rpc.ts'
import type { BroadcastVerdict } from '../../src/payouts/broadcast/broadcaster.ts'
import { UtxoPayoutClient } from '../../src/payouts/broadcast/utxo/utxo-payout-client.ts'
import { boundChain, EvmPayoutWorld } from '../support/evm-payout-world.ts'
import type { PayoutSteps } from '../support/payout-steps.ts'
import { PayoutWorld } from '../support/payout-world.ts'
import { startSandboxMoney } from '../support/sandbox-money.ts'
import { SolanaPayoutWorld } from '../support/solana-payout-world.ts'

/** Between two turns: longer than one provider alone is trusted with what it has taken. */
const TURN_MS = 30_000

/** What the first provider says to whatever it is sent, which it passes on to nobody; the second is honest. */
const FIRST: readonly (readonly [string, BroadcastVerdict])[] = [
  ['refuses', { kind: 'refused', reason: 'not from here' }],
  ['swallows', { kind: 'known' }],
]

const wait = (world: PayoutSteps): void => {
  world.now = new Date(world.now.getTime() + TURN_MS)
}

describe('ether and USDC', () => {
  let world: EvmPayoutWorld
  beforeAll(async () => {
    world = await EvmPayoutWorld.open('base')
    await world.fuelHotWallet()
    await world.watch()
  })
  afterAll(() => world?.close())

  test.each(FIRST)('payouts and sweeps that the first node %s go through the second', async (_, verdict) => {
    const chain = world.clientAt(world.anvil.url)
    const first = { ...boundChain(chain), broadcast: async () => verdict }
    const tracker = world.trackerOf([
      { name: 'first', chain: first },
      { name: 'second', chain },
    ])
    for (const [asset, amount] of [
      ['ETH_BASE', 10n ** 18n],
      ['USDC_BASE', 1_000_000n],
    ] as const) {
      const tenant = await world.openShop(asset, [amount])
      const payout = await world.payout(tenant, asset, '1')
      for (let turn = 0; turn < 14; turn++) {
        await tracker.pass()
        await world.sign()
        await world.anvil.mine(1)
        wait(world)
      }
      expect((await world.load(tenant, payout.id)).status).toBe('confirmed')
    }
    await chain.close()
  })
})

describe('litecoin', () => {
  let money: Awaited<ReturnType<typeof startSandboxMoney>>
  let world: PayoutWorld
  beforeAll(async () => {
    money = await startSandboxMoney()
    world = await PayoutWorld.open(money)
  })
  afterAll(async () => {
    await world?.close()
    await money?.remove()
  })

  test.each(FIRST)('a payout that the first node %s goes through the second', async (_, verdict) => {
    const chain = new UtxoPayoutClient(world.rpc, 'test')
    const first = Object.assign(new UtxoPayoutClient(world.rpc, 'test'), { broadcast: async () => verdict })
    const tracker = world.trackerOf([
      { name: 'first', chain: first },
      { name: 'second', chain },
    ])
    const tenant = await world.openShop([100_000_000n])
    const payout = await world.payout(tenant, '0.5')
    for (let turn = 0; turn < 6; turn++) {
      await tracker.pass()
      await world.sign()
      await money.mine(1)
      wait(world)
    }
    expect((await world.load(tenant, payout.id)).status).toBe('confirmed')
  })
})

describe('SOL', () => {
  let world: SolanaPayoutWorld
  beforeAll(async () => {
    world = await SolanaPayoutWorld.open()
    await world.turn()
    await world.fund()
  })
  afterAll(() => world?.close())

  test.each([
    ['refuses', SOLANA_CODES.preflightFailure],
    ['fails at', -32603],
    ['swallows', null],
  ])('payouts and sweeps that the first node %s go through the second', async (_, code) => {
    const slot = await world.rpc.slot('confirmed')
    const { blockhash } = (await world.rpc.blockHead(slot)) ?? {}
    await world.database.owner.query('update network_state set height = $1, hash = $2', [slot, blockhash])
    const sendTransaction = async () => {
      if (code !== null) throw new SolanaCallFailed(code, 'not from here', {})
    }
    const first = Object.assign(new SolanaRpc(world.solana.url, 'the test'), { sendTransaction })
    const tenant = await world.openShop([1_000_000_000n])
    const payout = await world.payout(tenant, '0.5')
    const tracker = world.tracker(world.broadcaster(first, world.rpc))
    for (let turn = 0; turn < 14; turn++) {
      await world.turn(tracker)
      wait(world)
    }
    expect((await world.load(tenant, payout.id)).status).toBe('confirmed')
    await first.close()
  })
})
