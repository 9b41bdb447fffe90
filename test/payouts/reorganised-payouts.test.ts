import { afterAll, beforeAll, expect, test } from 'vitest'
import { runAudit } from '../../src/audit/run-audit.ts'
import { RpcClient } from '../../src/chain/utxo/rpc-client.ts'
import { formatCoinAmount } from '../../src/core/money.ts'
import { recordTransfers } from '../../src/flows/record-transfers.ts'
import type { PayoutTracker } from '../../src/payouts/broadcast/payout-tracker.ts'
import { UtxoPayoutClient } from '../../src/payouts/broadcast/utxo/utxo-payout-client.ts'
import type { Tenant } from '../../src/postgres/transaction.ts'
import { NODE_PROGRAMS } from '../support/daemons.ts'
import { describeNeeding } from '../support/describe-needing.ts'
import { startNode, type TestNode } from '../support/litecoind.ts'
import { PayoutWorld } from '../support/payout-world.ts'

const COIN = 100_000_000n

describeNeeding(NODE_PROGRAMS, 'reorganisations on a real node of %s', (chain) => {
  let node: TestNode
  let world: PayoutWorld
  const sent = new Map<bigint, { txid: string; hex: string }>()
  beforeAll(async () => {
    node = await startNode(chain, { blocks: 130 })
    world = await PayoutWorld.open({
      chain,
      rpcUrl: node.rpcUrl,
      pay: async (address, amount) => {
        const txid = await node.pay(address, formatCoinAmount(amount, 8))
        const payment = { txid, hex: await node.rpc<string>('getrawtransaction', [txid]) }
        sent.set(amount, payment)
        return payment
      },
      mine: (blocks) => node.mine(blocks),
    })
  })
  afterAll(async () => {
    await world?.close()
    await node?.remove()
  })

  const height = () => node.rpc<number>('getblockcount')
  const blockOf = async (txid: string) =>
    (await node.rpc<{ blockhash: string }>('gettransaction', [txid])).blockhash
  const rawOf = async (payoutId: string): Promise<{ txid: string; hex: string }[]> => {
    const { rows } = await world.database.owner.query<{ txid: string; raw: Buffer }>(
      'select txid, raw from payout_transaction where payout_id = $1 order by number',
      [payoutId],
    )
    return rows.map(({ txid, raw }) => ({ txid, hex: raw.toString('hex') }))
  }
  /** What the watcher does with a deposit that the chain has taken back. */
  const takeBack = async (tenant: Tenant, txid: string) => {
    type Row = { id: string; output: number; amount: bigint }
    const { rows } = await world.database.owner.query<Row>(
      'select invoice_id as id, output_index as output, amount from transfer where txid = $1',
      [txid],
    )
    for (const { id: invoiceId, output, amount } of rows) {
      const place = { network: world.network, asset: world.asset, txid, outputIndex: output } as const
      const fact = {
        ...place,
        amount,
        minimumConfirmations: 1,
        state: 'reorged',
        firstSeenMs: 0,
        knownIn: null,
      } as const
      const deps = { pool: world.database.pools.watcher, clock: () => world.now }
      await recordTransfers(deps, { tenant, invoiceId, facts: [fact], tipHeight: await height() })
    }
  }
  const paid = (amount: bigint) => {
    const payment = sent.get(amount)
    if (payment === undefined) throw new Error(`${amount} was not paid`)
    return payment
  }
  /** A transaction of the payee's that spends the first output of this one. */
  const spendOf = async (hex: string): Promise<string> => {
    type Decoded = { txid: string; vout: { value: number; scriptPubKey: { hex: string } }[] }
    const { txid, vout } = await node.rpc<Decoded>('decoderawtransaction', [hex])
    const value = vout[0]?.value ?? 0
    const inputs = [{ txid, vout: 0 }]
    const outputs = [{ [await node.newAddress()]: (value - 0.001).toFixed(8) }]
    const raw = await node.rpc<string>('createrawtransaction', [inputs, outputs])
    const signed = await node.rpc<{ hex: string }>('signrawtransactionwithwallet', [raw])
    return signed.hex
  }
  /** The branch that begins with this block is one that the node has left, not one that it finds invalid. */
  const outgrow = async (first: string) => {
    const tips = await node.rpc<{ height: number; status: string }[]>('getchaintips')
    const theirs = Math.max(...tips.filter(({ status }) => status === 'invalid').map((tip) => tip.height))
    while ((await height()) <= theirs) await node.mineOnly([])
    await node.rpc('reconsiderblock', [first])
  }
  /** Gives the other node the blocks of this one's best chain. */
  const feed = async (other: TestNode) => {
    for (let at = 1; at <= (await height()); at++) {
      const hash = await node.rpc<string>('getblockhash', [at])
      await other.rpc('submitblock', [await node.rpc<string>('getblock', [hash, 0])])
    }
  }
  const findings = async () =>
    (await runAudit(world.database.owner, [])).filter(
      ({ name, findings: found }) => found.length > 0 && /payout|coins|shortfall|reserved|ledger/.test(name),
    )

  /** So many looks at payouts, each with a block more. */
  const go = async (tracker: PayoutTracker, passes: number) => {
    for (let pass = 0; pass < passes; pass++) {
      await node.mine(1)
      await world.watch()
      await tracker.pass()
      await world.sign()
    }
  }
  const last = <Item>(items: readonly Item[]): Item => {
    const item = items.at(-1)
    if (item === undefined) throw new Error('there is none')
    return item
  }

  test('a payout mined below the checkpoint of its signing is paid once, whatever its payee does', async () => {
    const tenant = await world.openShop([COIN])
    await node.mine(5)
    await world.watch()
    const payout = await world.payout(tenant, '1', await node.newAddress())
    await world.sign()
    const tracker = world.tracker()
    await tracker.pass()
    const { txid, hex } = last(await rawOf(payout.id))
    await node.rpc('invalidateblock', [await node.rpc('getblockhash', [(await height()) - 1])])
    const block = await node.mineOnly([txid])
    await node.mine(3)
    // The payee spends it, so that no output of the payout is left to ask for.
    await node.rpc('sendrawtransaction', [await spendOf(hex)])
    await go(tracker, 4)
    expect(await blockOf(txid)).toBe(block)
    expect(await world.load(tenant, payout.id)).toMatchObject({ status: 'confirmed', txid })
    expect(await world.balances(tenant)).toMatchObject({ available: 0n, reserved: 0n })
    expect(await findings()).toEqual([])
  })

  test('so is one of which a replaced transaction is mined below that checkpoint', async () => {
    const tenant = await world.openShop([COIN])
    await node.mine(5)
    await world.watch()
    const payout = await world.payout(tenant, '1', await node.newAddress())
    await world.sign()
    const tracker = world.tracker()
    await tracker.pass()
    world.now = new Date(world.now.getTime() + 31 * 60_000)
    await tracker.pass()
    await world.database.owner.query('update network_fee set milli_per_vbyte = 5000 where network = $1', [
      world.network,
    ])
    await world.sign()
    await tracker.pass()
    const [first, second] = await rawOf(payout.id)
    expect(await world.load(tenant, payout.id)).toMatchObject({ txid: second?.txid })
    await node.rpc('invalidateblock', [await node.rpc('getblockhash', [(await height()) - 1])])
    await node.rpc('generateblock', [await node.newAddress(), [first?.hex]])
    await node.mine(3)
    await node.rpc('sendrawtransaction', [await spendOf(first?.hex ?? '')])
    await go(world.tracker(), 4)
    expect(await world.load(tenant, payout.id)).toMatchObject({ status: 'confirmed', txid: first?.txid })
    expect(await findings()).toEqual([])
  })

  test('a confirmed payout is paid once, and logged, if a deeper reorganisation has its other transaction', async () => {
    const tenant = await world.openShop([2n * COIN])
    const payout = await world.payout(tenant, '1', await node.newAddress())
    await world.sign()
    await world.tracker().pass()
    world.now = new Date(world.now.getTime() + 31 * 60_000)
    await world.tracker().pass()
    await world.database.owner.query('update network_fee set milli_per_vbyte = 9000 where network = $1', [
      world.network,
    ])
    await world.sign()
    await world.tracker().pass()
    const [first, second] = await rawOf(payout.id)
    const confirmed = await height()
    await go(world.tracker(), 4)
    const booked = await world.load(tenant, payout.id)
    expect(booked).toMatchObject({ status: 'confirmed', txid: second?.txid })
    await node.rpc('invalidateblock', [await node.rpc('getblockhash', [confirmed + 1])])
    await node.rpc('generateblock', [await node.newAddress(), [first?.hex]])
    await go(world.tracker(), 8)
    expect(await world.load(tenant, payout.id)).toEqual(booked)
    const told = world.logged.filter((line) => line.includes(payout.id) && line.includes('beyond finality'))
    expect(told.join('')).toContain(first?.txid)
    // Only one of the two can happen, and nothing more was signed.
    expect(await rawOf(payout.id)).toHaveLength(2)
    expect(await world.paidTo(payout.destination)).toHaveLength(1)
  })

  test('a branch shows which transaction a coin came from, unless its node declares it invalid', async () => {
    const rpc = new RpcClient(node.rpcUrl, 'the test')
    try {
      const transaction = new UtxoPayoutClient(rpc, 'test')
      const txid = await node.pay(await node.newAddress(), '1')
      const block = await node.mineOnly([txid])
      const from = await height()
      await node.rpc('invalidateblock', [block])
      expect(await transaction.staleTransactions(txid, from)).toBeNull()
      await outgrow(block)
      expect(await transaction.staleTransactions(txid, from)).toMatchObject([{ txid, forkHeight: from - 1 }])
      await node.mine(1)
    } finally {
      await rpc.close()
    }
  })

  test('a payout dies with a deposit double-spent as deep as finality, and its good coin is free again', async () => {
    const tenant = await world.openShop([20n * COIN])
    await world.deposit(tenant, [COIN])
    const twin = await node.copy()
    const rpcs = [node, twin].map(({ rpcUrl }) => new RpcClient(rpcUrl, 'the test'))
    try {
      const payout = await world.payout(tenant, '20.5')
      await world.sign()
      await world.tracker().pass()
      expect((await world.load(tenant, payout.id)).status).toBe('submitted')
      const deposit = paid(COIN)
      const block = await blockOf(deposit.txid)
      await node.rpc('invalidateblock', [block])
      await node.rpc('generateblock', [await node.newAddress(), [await node.conflictOf(deposit.hex)]])
      await outgrow(block)
      await takeBack(tenant, deposit.txid)
      expect(await world.balances(tenant)).toMatchObject({
        reserved: (41n * COIN) / 2n,
        shortfall: -COIN / 2n,
      })
      const [first, second] = rpcs.map((rpc) => new UtxoPayoutClient(rpc, 'test'))
      if (first === undefined || second === undefined) throw new Error('no payout clients')
      const tracker = world.trackerOf([
        { name: 'first', chain: first },
        { name: 'second', chain: second },
      ])
      await go(tracker, 3)
      // The other node has none of these blocks: it is on the fork that still has the deposit.
      expect((await world.load(tenant, payout.id)).status).toBe('submitted')
      await feed(twin)
      await go(tracker, 1)
      await feed(twin)
      await go(tracker, 1)
      await feed(twin)
      await tracker.pass()
      await world.sign()
      await tracker.pass()
      expect(await world.load(tenant, payout.id)).toMatchObject({
        status: 'failed',
        failureCode: 'input_double_spent',
      })
      expect(await world.balances(tenant)).toMatchObject({
        available: 20n * COIN,
        reserved: 0n,
        shortfall: 0n,
      })
      expect(await findings()).toEqual([])
      const next = await world.payout(tenant, '20')
      await world.sign()
      await tracker.pass()
      await node.mine(1)
      await feed(twin)
      await tracker.pass()
      expect((await world.load(tenant, next.id)).status).toBe('confirmed')
      expect(await world.paidTo(payout.destination)).toEqual([])
      expect(await findings()).toEqual([])
    } finally {
      for (const rpc of rpcs) await rpc.close()
      await twin.remove()
    }
  })

  test('a deposit that a reorganisation put back and its node forgot is sent again, and its payout happens', async () => {
    const tenant = await world.openShop([2n * COIN])
    await world.deposit(tenant, [3n * COIN])
    const payout = await world.payout(tenant, '4')
    await world.sign()
    await world.tracker().pass()
    const block = await blockOf(paid(3n * COIN).txid)
    await node.rpc('invalidateblock', [block])
    await outgrow(block)
    await node.stop()
    // Its wallet would send it again.
    await node.start(['-persistmempool=0', '-walletbroadcast=0'])
    expect(await node.rpc('getrawmempool')).toEqual([])
    await node.mineOnly([])
    await world.watch()
    const tracker = world.tracker()
    for (let pass = 0; pass < 2; pass++) await tracker.pass()
    await go(tracker, 2)
    expect((await world.load(tenant, payout.id)).status).toBe('confirmed')
    expect(await world.coinsOnChain(tenant)).toBe(COIN)
    expect(await findings()).toEqual([])
  })
})
