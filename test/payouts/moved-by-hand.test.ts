import { p2wpkh, Transaction } from '@scure/btc-signer'
import { expect, test } from 'vitest'
import { contractCall } from '../../src/chain/evm/contract-call.ts'
import { outputScriptOf } from '../../src/chain/utxo/output-script.ts'
import { privateKeyAt } from '../../src/payouts/sign/utxo/coin-keys.ts'
import { listSpendableCoins } from '../../src/payouts/store/payout-coins.ts'
import { hex, newEvmAddress } from '../support/anvil.ts'
import { NODE_PROGRAMS } from '../support/daemons.ts'
import { describeNeeding } from '../support/describe-needing.ts'
import { EvmPayoutWorld } from '../support/evm-payout-world.ts'
import { startNode } from '../support/litecoind.ts'
import { moneyOf } from '../support/node-money.ts'
import { PayoutWorld } from '../support/payout-world.ts'
import { SolanaPayoutWorld } from '../support/solana-payout-world.ts'

/** Somebody with the seed moves deposits beside Paylink: what the books hold is not on the chain any more. */

const COIN = 100_000_000n
const ETHER = 10n ** 18n
const USDC = 1_000_000n
const SOL = 1_000_000_000n
const DAY_MS = 24 * 3_600_000

const GIVEN_UP = { status: 'failed', failureCode: 'insufficient_funds' }

describeNeeding(NODE_PROGRAMS, 'coins spent by hand on a real node of %s', (chain) => {
  test.each([
    ['to elsewhere', false],
    ['to where the payout goes', true],
  ])(
    '%s fail the payout of them, and within a day the one that needs more than is left',
    async (_, isSame) => {
      const node = await startNode(chain, { blocks: 130 })
      const world = await PayoutWorld.open(moneyOf(node, chain))
      try {
        const tenant = await world.openShop([COIN, 2n * COIN])
        const to = world.newAddress()
        await spendByHand(world, 2n * COIN, isSame ? to : world.newAddress())
        const first = await world.payout(tenant, '3', to)
        for (let turn = 0; turn < 4; turn++) {
          await world.tracker().pass()
          await world.sign()
          await node.mine(1)
          await world.watch()
        }
        const tracker = world.tracker()
        for (let turn = 0; turn < 8 && (await world.load(tenant, first.id)).status !== 'failed'; turn++) {
          await tracker.pass()
          await world.sign()
          await node.mine(1)
          await world.watch()
        }
        expect(await world.load(tenant, first.id)).toMatchObject({
          status: 'failed',
          failureCode: 'input_spent_elsewhere',
        })
        const next = await world.payout(tenant, '3')
        await world.sign()
        expect((await world.load(tenant, next.id)).status).toBe('approved')
        world.now = new Date(world.now.getTime() + DAY_MS + 1)
        await world.sign()
        await world.endRefused()
        expect(await world.load(tenant, next.id)).toMatchObject(GIVEN_UP)
        const rest = await world.payout(tenant, '0.9')
        await world.sign()
        await world.tracker().pass()
        expect((await world.load(tenant, rest.id)).status).toBe('submitted')
      } finally {
        await world.close()
        await node.remove()
      }
    },
  )
})

async function spendByHand(world: PayoutWorld, amount: bigint, to: string): Promise<void> {
  const account = world.accounts.spenders.get(world.network)
  const { rows } = await world.database.owner.query<{ merchant_id: string }>(
    'select merchant_id from transfer',
  )
  const tenant = { merchantId: rows[0]?.merchant_id ?? '', livemode: false }
  const coins = await listSpendableCoins(world.database.owner, tenant, world.network)
  const coin = coins.find((each) => each.amount === amount)
  if (account === undefined || coin === undefined) throw new Error('no such coin')
  const { privateKey, publicKey } = privateKeyAt(account, coin.chain, coin.index)
  const { script } = p2wpkh(publicKey)
  const transaction = new Transaction()
  transaction.addInput({ txid: coin.txid, index: coin.outputIndex, witnessUtxo: { script, amount } })
  const output = outputScriptOf(to, world.money.chain, world.parameters)
  if (output === null) throw new Error('no address')
  transaction.addOutput({ script: output.script, amount: amount - 10_000n })
  transaction.signIdx(privateKey, 0)
  transaction.finalize()
  await world.rpc.callRaw('sendrawtransaction', [transaction.hex])
  await world.money.mine(1)
}

test.each([
  ['ETH_BASE', ETHER],
  ['USDC_BASE', USDC],
] as const)(
  'a payout in %s of deposits that are not there any more fails within a day, and what is left is paid',
  async (asset, unit) => {
    const world = await EvmPayoutWorld.open('base')
    try {
      await world.fuelHotWallet()
      const tenant = await world.openShop(asset, [unit])
      const { address: from } = await world.deposit(tenant, asset, 2n * unit)
      await moveByHand(world, asset, from, 2n * unit)
      const payout = await world.payout(tenant, asset, '3')
      for (let turn = 0; turn < 3; turn++) {
        await world.tracker().pass()
        await world.sign()
        await world.anvil.mine(1)
      }
      expect((await world.load(tenant, payout.id)).status).toBe('approved')
      world.now = new Date(world.now.getTime() + DAY_MS + 1)
      await world.until(tenant, payout.id, 'failed')
      expect(await world.load(tenant, payout.id)).toMatchObject(GIVEN_UP)
      expect(await world.balances(tenant)).toMatchObject({ available: 3n * unit, reserved: 0n })
      const rest = await world.payout(tenant, asset, '1')
      await world.until(tenant, rest.id, 'confirmed')
    } finally {
      await world.close()
    }
  },
  120_000,
)

async function moveByHand(
  { anvil, token }: EvmPayoutWorld,
  asset: 'ETH_BASE' | 'USDC_BASE',
  from: string,
  amount: bigint,
): Promise<void> {
  const { address: to, addressBytes } = newEvmAddress()
  await anvil.rpc('anvil_impersonateAccount', [from])
  if (asset === 'USDC_BASE') await anvil.rpc('anvil_setBalance', [from, hex(ETHER)])
  const gas = { gas: hex(100_000n), maxFeePerGas: hex(2n * 10n ** 9n), maxPriorityFeePerGas: '0x0' }
  const data = `0x${Buffer.from(contractCall('transfer(address,uint256)', addressBytes, amount)).toString('hex')}`
  const call =
    asset === 'USDC_BASE' ? { to: token, data } : { to, value: hex(amount - 100_000n * 2n * 10n ** 9n) }
  await anvil.rpc('eth_sendTransaction', [{ from, ...gas, ...call }])
  await anvil.mine(1)
}

test('a payout in SOL of deposits that are not there any more fails within a day, and what is left is paid', async () => {
  const world = await SolanaPayoutWorld.open()
  try {
    await world.fund()
    const tenant = await world.openShop([SOL])
    await world.deposit(tenant, 2n * SOL, { isPaid: false })
    const payout = await world.payout(tenant, '3')
    for (let turn = 0; turn < 10; turn++) await world.turn()
    expect((await world.load(tenant, payout.id)).status).toBe('approved')
    world.now = new Date(world.now.getTime() + DAY_MS + 1)
    await world.until(tenant, payout.id, 'failed')
    expect(await world.load(tenant, payout.id)).toMatchObject(GIVEN_UP)
    const rest = await world.payout(tenant, '1')
    await world.until(tenant, rest.id, 'confirmed')
  } finally {
    await world.close()
  }
})
