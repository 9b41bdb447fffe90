import { afterAll, beforeAll, expect, test } from 'vitest'
import { UtxoAdapter } from '../../src/chain/utxo/utxo-adapter.ts'
import { formatCoinAmount } from '../../src/core/money.ts'
import type { Payout } from '../../src/core/payout/payout.ts'
import type { PayoutChain } from '../../src/payouts/broadcast/utxo/utxo-broadcaster.ts'
import { UtxoPayoutClient } from '../../src/payouts/broadcast/utxo/utxo-payout-client.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { NODE_PROGRAMS } from '../support/daemons.ts'
import { describeNeeding } from '../support/describe-needing.ts'
import { startNode, type TestNode } from '../support/litecoind.ts'
import { moneyOf } from '../support/node-money.ts'
import { KILLS_BEFORE_REST, killSometime } from '../support/payout-history.ts'
import { PayoutWorld } from '../support/payout-world.ts'
import { seededRandom } from '../support/random.ts'
import { seedMerchant } from '../support/seed.ts'
import { until } from '../support/until.ts'
import { utxoAdapterOptions } from '../support/utxo-driver.ts'
import { watchWith } from '../support/watched-network.ts'

const COIN = 100_000_000n
const HOUR_MS = 3_600_000
const MANY = 500
const KILLS = process.env.LONG === '1' ? 60 : 3
/** A process comes past so many on its way to a payout. */
const MOMENTS_MAX = 20
const SEED = 20_261_121

describeNeeding(NODE_PROGRAMS, 'on a real node of %s', (chain) => {
  let node: TestNode
  let world: PayoutWorld
  beforeAll(async () => {
    node = await startNode(chain, { blocks: 130 })
    world = await PayoutWorld.open(moneyOf(node, chain))
  })
  afterAll(async () => {
    await world?.close()
    await node?.remove()
  })

  const paidBy = async (txid: string | null, address: string): Promise<bigint> => {
    type Decoded = { vout: { value: number; scriptPubKey: { hex: string } }[] }
    const { rows } = await world.database.owner.query<{ raw: Buffer }>(
      'select raw from payout_transaction where txid = $1',
      [txid],
    )
    const decoded = await node.rpc<Decoded>('decoderawtransaction', [rows[0]?.raw.toString('hex')])
    const { scriptPubKey } = await node.rpc<{ scriptPubKey: string }>('validateaddress', [address])
    const output = decoded.vout.find((one) => one.scriptPubKey.hex === scriptPubKey)
    return BigInt(Math.round((output?.value ?? 0) * Number(COIN)))
  }

  test('several coins are paid to the node’s own wallet, which sees exactly what the payout says', async () => {
    const tenant = await world.openShop([COIN, COIN / 2n, COIN / 4n])
    const address = await node.newAddress()
    const payout = await world.payout(tenant, '1.6', address)
    await world.sign()
    const tracker = world.tracker()
    await tracker.pass()
    const sent = await world.load(tenant, payout.id)
    expect(sent.status).toBe('submitted')
    type Entry = { vsize: number; fees: { base: number }; 'bip125-replaceable': boolean }
    const entry = await node.rpc<Entry>('getmempoolentry', [sent.txid])
    expect(BigInt(Math.round(entry.fees.base * Number(COIN)))).toBe(sent.networkFee)
    expect(sent.networkFee).toBeGreaterThanOrEqual(BigInt(entry.vsize))
    expect(entry['bip125-replaceable']).toBe(true)
    await node.mine(1)
    await tracker.pass()
    const done = await world.load(tenant, payout.id)
    expect(done.status).toBe('confirmed')
    expect(await paidBy(done.txid, address)).toBe(done.amount - done.networkFee)
    const received = await node.rpc<number>('getreceivedbyaddress', [address, 1])
    expect(BigInt(Math.round(received * Number(COIN)))).toBe(done.amount - done.networkFee)
    const { available } = await world.balances(tenant)
    expect(await world.coinsOnChain(tenant)).toBe(available)
  })

  test('a node takes the replacement in the place of the original, and only that one happens', async () => {
    const tenant = await world.openShop([COIN])
    const payout = await world.payout(tenant, '0.5')
    await world.sign()
    const tracker = world.tracker()
    await tracker.pass()
    const first = await world.load(tenant, payout.id)
    world.now = new Date(world.now.getTime() + 31 * 60_000)
    await tracker.pass()
    await world.database.owner.query('update network_fee set milli_per_vbyte = 5000 where network = $1', [
      world.network,
    ])
    await world.sign()
    await tracker.pass()
    const mempool = await node.rpc<string[]>('getrawmempool')
    const second = await world.load(tenant, payout.id)
    expect(second.txid).not.toBe(first.txid)
    expect([mempool.includes(String(first.txid)), mempool.includes(String(second.txid))]).toEqual([
      false,
      true,
    ])
    await node.mine(1)
    await tracker.pass()
    expect(await world.load(tenant, payout.id)).toMatchObject({ status: 'confirmed', txid: second.txid })
  })

  test('a payee who has spent the unconfirmed output delays a higher fee, and does not keep it out', async () => {
    const tenant = await world.openShop([COIN])
    const destination = await node.newAddress()
    const feeIs = (rate: number) =>
      world.database.owner.query('update network_fee set milli_per_vbyte = $2 where network = $1', [
        world.network,
        rate,
      ])
    await feeIs(2_000)
    const payout = await world.payout(tenant, '0.5', destination)
    await world.sign()
    const tracker = world.tracker()
    await tracker.pass()
    const first = await world.load(tenant, payout.id)
    // Together more than the first replacement pays.
    const left = first.amount - first.networkFee - (first.networkFee * 7n) / 10n
    const child = await node.rpc<string>('createrawtransaction', [
      [{ txid: first.txid, vout: 0 }],
      [{ [await node.newAddress()]: formatCoinAmount(left, 8) }],
    ])
    const { hex } = await node.rpc<{ hex: string }>('signrawtransactionwithwallet', [child])
    await node.rpc('sendrawtransaction', [hex])
    world.logged.length = 0
    const bump = async () => {
      world.now = new Date(world.now.getTime() + 2 * 31 * 60_000)
      await tracker.pass()
      await feeIs(3_000)
      await world.sign()
      await tracker.pass()
      return world.load(tenant, payout.id)
    }
    expect((await bump()).txid).toBe(first.txid)
    expect(world.logged.join('')).toContain('has spent the unconfirmed output')
    let now = first
    for (let turn = 0; turn < 4 && now.txid === first.txid; turn++) now = await bump()
    expect(now.txid).not.toBe(first.txid)
    expect(now.networkFee).toBeLessThanOrEqual(now.networkFeeMax)
    expect(await node.rpc<string[]>('getrawmempool')).toContain(now.txid)
    await node.mine(1)
    await tracker.pass()
    expect(await world.load(tenant, payout.id)).toMatchObject({ status: 'confirmed', txid: now.txid })
  })

  test('a payout that a reorganisation took out of its block goes in again by the same bytes', async () => {
    const tenant = await world.openShop([COIN])
    await node.mine(5)
    const payout = await world.payout(tenant, '0.5')
    await world.sign()
    const tracker = world.tracker()
    await tracker.pass()
    await node.mine(1)
    await tracker.pass()
    await node.reorganise(1, 'waiting')
    await tracker.pass()
    await node.mine(1)
    await tracker.pass()
    const done = await world.load(tenant, payout.id)
    expect(done.status).toBe('confirmed')
    const { available } = await world.balances(tenant)
    expect(await world.coinsOnChain(tenant)).toBe(available)
  })

  test('a payout to another merchant’s invoice, or to one of one’s own, is a payment there, also once bumped', async () => {
    const [payer, other] = [await world.openShop([COIN, COIN]), await seedMerchant(world.database)]
    const terms = {
      createdAtMs: Date.now(),
      expiresAtMs: Date.now() + HOUR_MS,
      confirmations: { [world.asset]: 1 },
    }
    const [theirs, own] = [
      await world.openInvoice(other, COIN / 2n, 0, terms),
      await world.openInvoice(payer, COIN / 2n, 0, terms),
    ]
    const adapter = new UtxoAdapter({ ...utxoAdapterOptions(chain, node.rpcUrl), clock: systemClock })
    adapter.watched.add([theirs.addressBytes, own.addressBytes])
    const watching = watchWith(world.database, adapter)
    const tracker = world.tracker()
    const paymentsOf = async ({ invoiceId }: { invoiceId: string }) =>
      (
        await world.database.owner.query<{ amount: bigint; status: string }>(
          'select amount, status from transfer where invoice_id = $1 order by detected_at',
          [invoiceId],
        )
      ).rows
    try {
      const payouts: Payout[] = []
      for (const { address } of [theirs, own]) payouts.push(await world.payout(payer, '0.5', address))
      await world.sign()
      await tracker.pass()
      for (const each of [theirs, own])
        await until(async () => (await paymentsOf(each)).some(({ status }) => status === 'detected'))
      world.now = new Date(world.now.getTime() + 31 * 60_000)
      await tracker.pass()
      await world.database.owner.query('update network_fee set milli_per_vbyte = 5000 where network = $1', [
        world.network,
      ])
      await world.sign()
      await tracker.pass()
      await node.mine(1)
      await until(async () => {
        const payments = await Promise.all([theirs, own].map(paymentsOf))
        return payments.every((of) => of.some(({ status }) => status === 'confirmed'))
      })
      await tracker.pass()
      const done = await Promise.all(payouts.map(({ id }) => world.load(payer, id)))
      expect(done.map(({ status }) => status)).toEqual(['confirmed', 'confirmed'])
      const net = done.map(({ amount, networkFee }) => amount - networkFee)
      expect((await world.balances(other)).available).toBe(net[0])
      for (const tenant of [payer, other])
        expect(await world.coinsOnChain(tenant)).toBe((await world.balances(tenant)).available)
    } finally {
      await watching.stop()
    }
  })

  test('a payout that the node forgets over a restart is sent again by the same bytes, and paid once', async () => {
    const tenant = await world.openShop([COIN])
    const payout = await world.payout(tenant, '0.5')
    await world.sign()
    await world.tracker().pass()
    const { txid } = await world.load(tenant, payout.id)
    await node.stop()
    await node.start(['-persistmempool=0', '-walletbroadcast=0'])
    expect(await node.rpc<string[]>('getrawmempool')).not.toContain(txid)
    const tracker = world.tracker()
    await tracker.pass()
    expect(await world.load(tenant, payout.id)).toMatchObject({ status: 'submitted', txid })
    expect(await node.rpc<string[]>('getrawmempool')).toContain(txid)
    await node.mine(1)
    await tracker.pass()
    expect(await world.load(tenant, payout.id)).toMatchObject({ status: 'confirmed', txid })
    expect(await world.paidTo(payout.destination)).toHaveLength(1)
    // For the tests after this one the wallet sends again.
    await node.stop()
    await node.start()
  })

  test('the node that has the transaction in a block already says so, and that is success', async () => {
    const tenant = await world.openShop([COIN])
    const payout = await world.payout(tenant, '0.5')
    await world.sign()
    const { rows } = await world.database.owner.query<{ raw: Buffer }>(
      'select raw from payout_transaction where payout_id = $1',
      [payout.id],
    )
    await node.rpc('sendrawtransaction', [rows[0]?.raw.toString('hex')])
    await node.mine(1)
    await world
      .tracker((chain) => ({
        ...bound(chain),
        find: async () => ({ pruned: new Set<string>(), found: new Map(), unread: new Set() }),
      }))
      .pass()
    expect((await world.load(tenant, payout.id)).status).toBe('submitted')
    await world.tracker().pass()
    expect((await world.load(tenant, payout.id)).status).toBe('confirmed')
    expect(await world.eventsOf(payout.id)).toEqual(['requested', 'approved', 'submitted', 'confirmed'])
  })

  test(
    `${KILLS} kills while signing and sending: each payout is one transaction, and books and chain agree`,
    async () => {
      const random = seededRandom(SEED)
      const coins = Array.from({ length: KILLS + 1 }, () => COIN / 2n)
      const tenant = await world.openShop(coins)
      const height = Number(await world.rpc.callRaw('getblockcount', []))
      const payouts: Payout[] = []
      const rest = async () => {
        const alive = await world.startProcess()
        const isDone = async () => {
          await node.mine(1)
          const now = await Promise.all(payouts.map(({ id }) => world.load(tenant, id)))
          return now.every(({ status }) => status === 'confirmed')
        }
        await until(isDone, { what: 'every payout is confirmed', timeoutMs: 60_000 })
        await alive.kill()
      }
      for (let kill = 0; kill < KILLS; kill++) {
        payouts.push(await world.payout(tenant, '0.3'))
        await killSometime(random, await world.startProcess(), MOMENTS_MAX)
        if (random.chance(0.5)) await node.mine(1)
        if ((kill + 1) % KILLS_BEFORE_REST === 0) await rest()
      }
      await rest()
      for (const { id, destination, amount } of payouts) {
        const { networkFee } = await world.load(tenant, id)
        expect(await world.paidTo(destination, height)).toEqual([amount - networkFee])
        expect(await world.eventsOf(id)).toEqual(['requested', 'approved', 'submitted', 'confirmed'])
      }
      const { available, reserved } = await world.balances(tenant)
      expect(reserved).toBe(0n)
      expect(await world.coinsOnChain(tenant)).toBe(available)
    },
    60_000 + KILLS * 10_000,
  )

  test('a node that estimates no fees carries payouts itself, and another one is asked for the fee alone', async () => {
    const tenant = await world.openShop([COIN])
    await world.watch()
    const client = () => new UtxoPayoutClient(world.rpc, 'test')
    const refusing = { ...bound(client()), feeRate: async () => ({ rate: null, refusal: 'no estimates' }) }
    const estimating = { ...bound(client()), feeRate: async () => ({ rate: 7_000n, refusal: null }) }
    const switches = async (second: PayoutChain) => {
      const tracker = world.trackerOf([
        { name: 'first', chain: refusing },
        { name: 'second', chain: second },
      ])
      world.logged.length = 0
      for (let minute = 0; minute < 4; minute++) {
        await tracker.pass()
        world.now = new Date(world.now.getTime() + 35_000)
        await tracker.pass()
        world.now = new Date(world.now.getTime() + 30_000)
      }
      return world.logged.filter((line) => line.includes('payouts go through another provider'))
    }
    expect(await switches(refusing)).toEqual([])
    expect(await switches(estimating)).toEqual([])
    const { rows } = await world.database.owner.query<{ rate: number }>(
      'select milli_per_vbyte as rate from network_fee where network = $1',
      [world.network],
    )
    expect(rows).toEqual([{ rate: 7_000 }])
    const payout = await world.payout(tenant, '0.5')
    await world.sign()
    await world.tracker().pass()
    expect((await world.load(tenant, payout.id)).status).toBe('submitted')
  })

  test('a node that does not estimate fees carries payouts all the same, and the log says so', async () => {
    const tenant = await world.openShop([COIN])
    await node.stop()
    await node.start(['-blocksonly'])
    const payout = await world.payout(tenant, '0.5')
    await world.sign()
    const tracker = world.tracker()
    await tracker.pass()
    expect((await world.load(tenant, payout.id)).status).toBe('submitted')
    await node.mine(1)
    await tracker.pass()
    expect((await world.load(tenant, payout.id)).status).toBe('confirmed')
    const said = world.logged.filter((line) => line.includes('estimates no fees'))
    // Litecoin Core says that it has seen too little.
    expect(said).toHaveLength(chain === 'bitcoin' ? 1 : 0)
  })

  test(`${MANY} coins are built and signed in one transaction, which the node takes; the time is printed`, async () => {
    const tenant = await world.openShop([])
    await world.depositMany(tenant, MANY, 100_000n, async (outputs) => {
      const { txid } = await node.payMany(outputs)
      return node.rpc<string>('getrawtransaction', [txid])
    })
    const payout = await world.payout(tenant, formatCoinAmount(100_000n * BigInt(MANY), 8))
    const beganAt = performance.now()
    await world.sign()
    const durationMs = performance.now() - beganAt
    process.stdout.write(`${chain}: ${MANY} inputs in ${Math.round(durationMs)} ms\n`)
    const tracker = world.tracker()
    await tracker.pass()
    await node.mine(1)
    await tracker.pass()
    expect((await world.load(tenant, payout.id)).status).toBe('confirmed')
    expect(await world.balances(tenant)).toMatchObject({ available: 0n, reserved: 0n })
  })
})

/** A chain's methods, to be spread into another. */
const bound = (chain: PayoutChain): PayoutChain => ({
  hasBlock: (block) => chain.hasBlock(block),
  feeRate: () => chain.feeRate(),
  broadcast: (raw) => chain.broadcast(raw),
  tipHeight: () => chain.tipHeight(),
  isUnspent: (txid, index) => chain.isUnspent(txid, index),
  find: (sought) => chain.find(sought),
  spenderOf: (output, from) => chain.spenderOf(output, from),
  staleTransactions: (txid, fromHeight) => chain.staleTransactions(txid, fromHeight),
  hasInBlock: (txid, block) => chain.hasInBlock(txid, block),
})
