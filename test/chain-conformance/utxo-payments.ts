import { describe, expect, test } from 'vitest'
import { seedMerchant } from '../support/seed.ts'
import { coinsOf, type DrivenNode } from '../support/utxo-driver.ts'
import type { OpenInvoice, WatchedChain } from '../support/watched-chain.ts'

const COINBASE_MATURITY = 100
/** One unit below what a merchant hears about (`dustBelow`), and far below what a mempool takes. */
const DUST = 293n
const NODE_BEHIND_S = 5_400
/** Base units for each virtual byte: a transaction that pays this waits long on a busy chain. */
const LOW_FEE_RATE = 1.1
const PAID_EVENTS = ['payment_detected', 'confirming', 'paid']

type Watched = WatchedChain<DrivenNode>

/** Everything that transactions of a UTXO chain can do to an invoice, with a real wallet that does it. */
export function describeUtxoPayments(watchedChain: () => Watched): void {
  describe('replacements and double-spends', () => describeReplacements(watchedChain))
  describe('shapes of payments', () => describeShapes(watchedChain))
}

async function detected(watched: Watched): Promise<{ invoice: OpenInvoice; txid: string; hex: string }> {
  const { chain, driver } = watched
  const invoice = await watched.openInvoice([await watched.watchAtTip()])
  const txid = await chain.pay(invoice.address, driver.amount)
  await watched.untilStatus(invoice.id, 'payment_detected')
  return { invoice, txid, hex: await chain.node.rpc<string>('getrawtransaction', [txid]) }
}

/** Ids, amounts and states of an invoice's transfers. */
async function transfersOf(watched: Watched, { id }: OpenInvoice) {
  const { rows } = await watched.database.owner.query<{ txid: string; amount: bigint; status: string }>(
    'select txid, amount, status from transfer where invoice_id = $1',
    [id],
  )
  return rows
}

function describeReplacements(watchedChain: () => Watched): void {
  test('a payment replaced by one of another amount counts with the amount that confirms', async () => {
    const watched = watchedChain()
    const { node } = watched.chain
    const { amount } = watched.driver
    const { invoice, txid } = await detected(watched)
    const less = amount / 4n
    const replacement = await node.spendAgain(txid, [{ [invoice.address]: coinsOf(less) }])
    await node.mine(1)
    await watched.untilStatus(invoice.id, 'partially_paid')
    await watched.untilRead()
    const transfers = await transfersOf(watched, invoice)
    expect(transfers).toHaveLength(2)
    expect(transfers).toContainEqual({ txid, amount, status: 'replaced' })
    expect(transfers).toContainEqual({ txid: replacement, amount: less, status: 'confirmed' })
  })

  test('a payment whose fee its wallet bumps counts once', async () => {
    const watched = watchedChain()
    const { node } = watched.chain
    const { invoice, txid } = await detected(watched)
    const before = await watched.availableBalance()
    const { txid: bumped } = await node.rpc<{ txid: string }>('bumpfee', [txid])
    await node.mine(1)
    await watched.untilStatus(invoice.id, 'paid')
    await watched.untilRead()
    const { amount } = watched.driver
    const transfers = await transfersOf(watched, invoice)
    expect(transfers).toContainEqual({ txid, amount, status: 'replaced' })
    expect(transfers).toContainEqual({ txid: bumped, amount, status: 'confirmed' })
    expect(await watched.availableBalance()).toBe(before + amount)
  })

  test('a payment replaced by one to another invoice counts for that one alone', async () => {
    const watched = watchedChain()
    const { node } = watched.chain
    const watcher = await watched.watchAtTip()
    const [left, right] = [await watched.openInvoice([watcher]), await watched.openInvoice([watcher])]
    const txid = await watched.chain.pay(left.address, watched.driver.amount)
    await watched.untilStatus(left.id, 'payment_detected')
    await node.spendAgain(txid, [{ [right.address]: coinsOf(watched.driver.amount) }])
    await watched.untilStatus(right.id, 'payment_detected')
    await watched.untilStatus(left.id, 'awaiting_payment')
    await node.mine(1)
    await watched.untilStatus(right.id, 'paid')
    expect(await watched.statusOf(left.id)).toBe('awaiting_payment')
  })

  test('a payment of two merchants, a conflict that pays one of them, and a fork back count for each once', async () => {
    const watched = watchedChain()
    const { node } = watched.chain
    const { amount } = watched.driver
    const watcher = await watched.watchAtTip()
    const others = await seedMerchant(watched.database)
    const mine = await watched.openInvoice([watcher])
    const theirs = await watched.openInvoice([watcher], {}, others)
    const before = await watched.availableBalance()
    const [whole, half] = [coinsOf(amount), coinsOf(amount / 2n)]
    const { txid, hex } = await node.payMany([{ [mine.address]: whole }, { [theirs.address]: whole }])
    for (const { id } of [mine, theirs]) await watched.untilStatus(id, 'payment_detected')
    const block = await node.mineOnly([await node.conflictOf(hex, [{ [theirs.address]: half }])])
    await watched.untilStatus(theirs.id, 'partially_paid')
    await watched.untilStatus(mine.id, 'awaiting_payment')
    await node.rpc('invalidateblock', [block])
    await node.mineOnly([hex])
    await node.mine(1)
    for (const { id } of [mine, theirs]) await watched.untilStatus(id, 'paid')
    await watched.untilRead()
    const transfers = await transfersOf(watched, theirs)
    expect(transfers).toHaveLength(2)
    expect(transfers).toContainEqual({ txid, amount, status: 'confirmed' })
    // The node may have offered it to its mempool between the two branches.
    const status: unknown = expect.stringMatching(/^(replaced|reorged)$/)
    expect(transfers).toContainEqual({ txid: expect.any(String), amount: amount / 2n, status })
    expect(await watched.availableBalance()).toBe(before + amount)
    const { rows } = await watched.database.owner.query(
      'select account, balance from ledger_balance where merchant_id = $1 and balance <> 0 order by account',
      [others.merchantId],
    )
    expect(rows).toEqual([
      { account: 'available', balance: amount },
      { account: 'chain', balance: -amount },
    ])
  })

  test('a double-spend that pays none of ours and that no mempool showed is noticed when it comes in a block', async () => {
    const watched = watchedChain()
    const { node } = watched.chain
    const { invoice, hex } = await detected(watched)
    await node.mineOnly([await node.conflictOf(hex)])
    await watched.untilStatus(invoice.id, 'awaiting_payment')
    expect(await watched.paymentsOf(invoice.id)).toEqual(['replaced'])
  })

  test('a payment dies with the unconfirmed transaction whose output it spends', async () => {
    const watched = watchedChain()
    const { node } = watched.chain
    const { amount } = watched.driver
    const watcher = await watched.watchAtTip()
    const invoice = await watched.openInvoice([watcher])
    const own = await node.newAddress()
    const parent = await node.pay(own, '2', { replaceable: true })
    await payOutOf(watched, parent, own, [{ [invoice.address]: coinsOf(amount) }])
    await watched.untilStatus(invoice.id, 'payment_detected')
    await node.spendAgain(parent)
    await watched.untilStatus(invoice.id, 'awaiting_payment')
    await node.mine(1)
    await watched.untilRead()
    expect(await watched.paymentsOf(invoice.id)).toEqual(['replaced'])
  })

  test('a payment whose low fee a child pays for (CPFP) confirms with it and counts once', async () => {
    const watched = watchedChain()
    const { node } = watched.chain
    const { amount } = watched.driver
    const watcher = await watched.watchAtTip()
    const invoice = await watched.openInvoice([watcher])
    const own = await node.newAddress()
    const outputs = [{ [invoice.address]: coinsOf(amount) }, { [own]: '1' }]
    const raw = await node.rpc<string>('createrawtransaction', [[], outputs])
    const feeRate = (LOW_FEE_RATE / 100_000).toFixed(8)
    const funded = await node.rpc<{ hex: string }>('fundrawtransaction', [raw, { feeRate }])
    const { hex } = await node.rpc<{ hex: string }>('signrawtransactionwithwallet', [funded.hex])
    const parent = await node.rpc<string>('sendrawtransaction', [hex])
    await watched.untilStatus(invoice.id, 'payment_detected')
    const child = await payOutOf(watched, parent, own, [])
    await node.mine(1)
    await watched.untilStatus(invoice.id, 'paid')
    expect(await node.rpc('getrawmempool')).not.toContain(child)
    expect(await transfersOf(watched, invoice)).toEqual([{ txid: parent, amount, status: 'confirmed' }])
    expect(await watched.eventsOf(invoice.id)).toEqual(PAID_EVENTS)
  })
}

/** Spends the output of an unconfirmed transaction to `own` with a good fee; what is left goes back to the wallet. */
async function payOutOf(
  watched: Watched,
  parent: string,
  own: string,
  outputs: readonly { readonly [address: string]: string }[],
): Promise<string> {
  const { node } = watched.chain
  type Decoded = { vout: { n: number; value: number; scriptPubKey: { hex: string } }[] }
  const hex = await node.rpc<string>('getrawtransaction', [parent])
  const { vout } = await node.rpc<Decoded>('decoderawtransaction', [hex])
  const addressBytes = (await node.addressBytesOf(own)).toString('hex')
  const output = vout.find(({ scriptPubKey }) => scriptPubKey.hex.endsWith(addressBytes))
  if (output === undefined) throw new Error('the parent has no output of the wallet')
  const paid = outputs.flatMap((each) => Object.values(each)).reduce((sum, one) => sum + Number(one), 0)
  const rest = (output.value - paid - 0.001).toFixed(8)
  const inputs = [{ txid: parent, vout: output.n }]
  const all = [...outputs, { [await node.newAddress()]: rest }]
  const raw = await node.rpc<string>('createrawtransaction', [inputs, all])
  const signed = await node.rpc<{ hex: string }>('signrawtransactionwithwallet', [raw])
  return node.rpc('sendrawtransaction', [signed.hex])
}

function describeShapes(watchedChain: () => Watched): void {
  test('several outputs of one transaction to one address are one payment', async () => {
    const watched = watchedChain()
    const { amount } = watched.driver
    const invoice = await watched.openInvoice([await watched.watchAtTip()])
    await watched.chain.node.payTwice(invoice.address, [coinsOf(amount / 4n), coinsOf(amount - amount / 4n)])
    await watched.untilStatus(invoice.id, 'payment_detected')
    await watched.chain.node.mine(1)
    await watched.untilStatus(invoice.id, 'paid')
    expect(await watched.paymentsOf(invoice.id)).toEqual(['confirmed'])
    expect(await watched.eventsOf(invoice.id)).toEqual(PAID_EVENTS)
  })

  test('a payment after the deadline is late, however far behind the clock of its node is', async () => {
    const watched = watchedChain()
    const { node } = watched.chain
    const invoice = await watched.openInvoice([await watched.watchAtTip()])
    await watched.endNow([invoice.id])
    await watched.untilStatus(invoice.id, 'expired')
    await node.rpc('setmocktime', [Math.floor(Date.now() / 1_000) - NODE_BEHIND_S])
    try {
      await watched.chain.pay(invoice.address, watched.driver.amount)
      await watched.untilStatus(invoice.id, 'payment_detected')
    } finally {
      await node.rpc('setmocktime', [0])
    }
    const { rows } = await watched.database.owner.query('select late from transfer where invoice_id = $1', [
      invoice.id,
    ])
    expect(rows).toEqual([{ late: true }])
  })

  test('one transaction pays two invoices', async () => {
    const watched = watchedChain()
    const coins = coinsOf(watched.driver.amount)
    const watcher = await watched.watchAtTip()
    const [one, other] = [await watched.openInvoice([watcher]), await watched.openInvoice([watcher])]
    await watched.chain.node.payMany([{ [one.address]: coins }, { [other.address]: coins }])
    await watched.chain.node.mine(1)
    for (const { id } of [one, other]) {
      await watched.untilStatus(id, 'paid')
      expect(await watched.eventsOf(id)).toEqual(PAID_EVENTS)
    }
  })

  test('a payment that no mempool ever showed is found in its block', async () => {
    const watched = watchedChain()
    const { node } = watched.chain
    const invoice = await watched.openInvoice([await watched.watchAtTip()])
    const hex = await node.signUnsent([{ [invoice.address]: coinsOf(watched.driver.amount) }])
    await node.mineOnly([hex])
    await watched.untilStatus(invoice.id, 'paid')
    expect(await watched.eventsOf(invoice.id)).toEqual(PAID_EVENTS)
  })

  test('dust is recorded and moves nothing; the smallest amount above it is a payment', async () => {
    const watched = watchedChain()
    const { node } = watched.chain
    const invoice = await watched.openInvoice([await watched.watchAtTip()])
    const before = await watched.balances()
    const send = async (amount: bigint) => {
      // A wallet refuses to make dust, and a mempool to hold it; a miner may put it into a block.
      const inputs = await node.signUnsent([{ [await node.newAddress()]: '1' }])
      await node.mineOnly([await node.conflictOf(inputs, [{ [invoice.address]: coinsOf(amount) }])])
      await watched.untilRead()
    }
    await send(DUST)
    expect(await watched.paymentsOf(invoice.id)).toEqual(['confirmed'])
    expect(await watched.statusOf(invoice.id)).toBe('awaiting_payment')
    expect(await watched.eventsOf(invoice.id)).toEqual([])
    expect(await watched.balances()).toEqual(before)
    await send(DUST + 1n)
    await watched.untilStatus(invoice.id, 'partially_paid')
  })

  test('a coinbase to an invoice counts at its hundredth confirmation, and dies with its block', async () => {
    const watched = watchedChain()
    const { node } = watched.chain
    const watcher = await watched.watchAtTip()
    const lost = await watched.openInvoice([watcher])
    const kept = await watched.openInvoice([watcher])
    await node.mine(1, lost.address)
    await watched.untilStatus(lost.id, 'confirming')
    await node.reorganise(1, 'waiting')
    await watched.untilStatus(lost.id, 'awaiting_payment')
    expect(await watched.paymentsOf(lost.id)).toEqual(['reorged'])
    await node.mine(1, kept.address)
    await watched.untilStatus(kept.id, 'confirming')
    await node.mine(COINBASE_MATURITY - 2)
    await watched.untilRead()
    expect(await watched.statusOf(kept.id)).toBe('confirming')
    await node.mine(1)
    // The subsidy is more than was asked for.
    await watched.untilStatus(kept.id, 'overpaid')
  })
}
