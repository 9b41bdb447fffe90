import { Transaction } from '@scure/btc-signer'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { BASE_HEIGHT, type ChainState, MAX_REORGANISATION_DEPTH } from '../../src/sandbox/utxo/chain-state.ts'
import { outpointOf } from '../../src/sandbox/utxo/chain-transaction.ts'
import { Wallet } from '../../src/sandbox/utxo/utxo-wallet.ts'
import {
  NOON_MS,
  openState,
  SHOP_SCRIPT,
  signPayment,
  temporaryFolder,
  transactionOf,
} from '../support/sandbox-state.ts'

let folder: Awaited<ReturnType<typeof temporaryFolder>>
let state: ChainState
beforeEach(async () => {
  folder = await temporaryFolder()
  state = openState(`${folder.path}/chain.log`)
})
afterEach(async () => {
  state.close()
  await folder.remove()
})

/** Sends a transaction and returns its id. */
function send(signed: { readonly hex: string }): string {
  const transaction = transactionOf(signed)
  expect(state.submit(transaction, NOON_MS)).toMatchObject({ kind: 'accepted' })
  return transaction.txid
}

/** Spends one of the wallet's coins with everything at the caller's choice. */
function craft(options: {
  outpoint?: string
  amountIn?: bigint
  outputs: readonly { script: Uint8Array; amount: bigint }[]
  sequence?: number
  lockTime?: number
  key?: Uint8Array
}) {
  const [first = ''] = state.coins.walletOutpoints()
  const [txid = '', index] = (options.outpoint ?? first).split(':')
  const amount = options.amountIn ?? state.coins.get(options.outpoint ?? first)?.amount ?? 0n
  const transaction = new Transaction({ allowUnknownOutputs: true, lockTime: options.lockTime ?? 0 })
  transaction.addInput({
    txid,
    index: Number(index),
    sequence: options.sequence ?? 0xfffffffd,
    witnessUtxo: { script: state.walletScript, amount },
  })
  for (const output of options.outputs) transaction.addOutput(output)
  transaction.sign(options.key ?? state.walletKey)
  transaction.finalize()
  return transactionOf(transaction)
}

const walletCoin = () => {
  const [outpoint = ''] = state.coins.walletOutpoints()
  return { outpoint, amount: state.coins.get(outpoint)?.amount ?? 0n }
}

test('a new chain has a mature premine of many coins and its tip at the present', () => {
  expect(state.tip.height).toBe(BASE_HEIGHT)
  expect([...state.coins.walletOutpoints()]).toHaveLength(400)
  expect(Math.abs(state.tip.timeS - NOON_MS / 1000)).toBeLessThanOrEqual(1)
  const supply = [...state.coins.walletOutpoints()].reduce(
    (sum, at) => sum + (state.coins.get(at)?.amount ?? 0n),
    0n,
  )
  expect(supply).toBeLessThanOrEqual(state.parameters.maxMoney)
})

test('a payment waits in the mempool, is mined, and becomes a coin of the one who was paid', () => {
  const txid = send(signPayment(state, 5_000n))
  expect(state.mempool.has(txid)).toBe(true)
  const block = state.mine(NOON_MS)
  expect(state.mempool.has(txid)).toBe(false)
  expect(state.heightOfRecent(txid)).toBe(block.height)
  expect(state.coins.get(outpointOf(txid, 0))).toMatchObject({ amount: 5_000n, height: block.height })
})

test('what is not valid is refused with the code and words of Bitcoin Core', () => {
  const { outpoint, amount } = walletCoin()
  const pay = { script: SHOP_SCRIPT, amount: 1_000n }
  const cases: [Parameters<typeof craft>[0], number, string][] = [
    [{ outputs: [{ ...pay, amount: amount + 1n }], amountIn: amount + 5n }, -26, 'bad-txns-in-belowout'],
    [{ outputs: [{ ...pay, amount }] }, -26, 'min relay fee not met'],
    [{ outputs: [pay], outpoint: `${'ab'.repeat(32)}:0`, amountIn: 9_000n }, -25, 'missingorspent'],
    [{ outputs: [pay], lockTime: 9_999 }, -26, 'non-final'],
    [{ outputs: [pay], sequence: 10 }, -26, 'non-BIP68-final'],
    // Signed for another amount than the coin has (BIP143).
    [{ outputs: [pay], amountIn: amount - 1n }, -26, 'mandatory-script-verify-flag-failed'],
  ]
  for (const [options, code, reason] of cases) {
    expect(state.submit(craft({ outpoint, ...options }), NOON_MS)).toMatchObject({
      kind: 'refused',
      code,
      reason: expect.stringContaining(reason),
    })
  }
  expect(state.mempool.size).toBe(0)
})

test('one flipped bit of a witness makes a transaction unacceptable', () => {
  const { hex } = signPayment(state, 5_000n)
  const bytes = Buffer.from(hex, 'hex')
  // The middle of the signature; the key and lock time lie behind it.
  const inSignature = bytes.length - 4 - 34 - 30
  bytes.writeUInt8(bytes.readUInt8(inSignature) ^ 1, inSignature)
  expect(state.submit(transactionOf({ hex: bytes.toString('hex') }), NOON_MS)).toMatchObject({
    kind: 'refused',
    code: -26,
    reason: expect.stringContaining('mandatory-script-verify-flag-failed'),
  })
})

test('a coin is spent once: a second spend needs a higher fee and a first that may be replaced', () => {
  const payment = signPayment(state, 5_000n)
  const first = send(payment)
  const { outpoint, amountIn } = spentBy(payment)
  const cheap = craft({ outpoint, amountIn, outputs: [{ script: SHOP_SCRIPT, amount: amountIn - 1_050n }] })
  expect(state.submit(cheap, NOON_MS)).toMatchObject({ kind: 'refused', reason: 'insufficient fee' })
  const second = send(payment.replacement)
  expect(state.mempool.txids()).toEqual([second])
  expect(state.submit(transactionOf(payment), NOON_MS)).toMatchObject({ kind: 'refused' })
  state.mine(NOON_MS)
  expect(state.heightOfRecent(second)).not.toBeNull()
  expect(state.heightOfRecent(first)).toBeNull()
  expect(state.submit(transactionOf(payment), NOON_MS)).toMatchObject({ kind: 'refused', code: -25 })
})

test('a transaction that does not signal replacement stays', () => {
  const { outpoint, amount } = walletCoin()
  const spend = (fee: bigint, sequence: number) =>
    craft({ outpoint, outputs: [{ script: SHOP_SCRIPT, amount: amount - fee }], sequence })
  expect(state.submit(spend(1_000n, 0xffffffff), NOON_MS)).toMatchObject({ kind: 'accepted' })
  expect(state.submit(spend(9_000n, 0xfffffffd), NOON_MS)).toMatchObject({
    kind: 'refused',
    reason: 'txn-mempool-conflict',
  })
})

test('a replacement takes with it everything that was built on the replaced one', () => {
  const payment = signPayment(state, 5_000n)
  const parent = send(payment)
  const change = transactionOf(payment).outputs[1]?.amount ?? 0n
  const child = craft({
    outpoint: outpointOf(parent, 1),
    amountIn: change,
    outputs: [{ script: SHOP_SCRIPT, amount: change - 500n }],
  })
  expect(state.submit(child, NOON_MS)).toMatchObject({ kind: 'accepted' })
  // The replacement pays less than parent and child together plus its own way.
  const { outpoint, amountIn } = spentBy(payment)
  const tooCheap = craft({
    outpoint,
    amountIn,
    outputs: [{ script: SHOP_SCRIPT, amount: amountIn - 1_550n }],
  })
  expect(state.submit(tooCheap, NOON_MS)).toMatchObject({ kind: 'refused', reason: 'insufficient fee' })
  const replacement = send(payment.replacement)
  expect(state.mempool.txids()).toEqual([replacement])
})

test('a coinbase matures after a hundred blocks', () => {
  const young = state.coins.get(walletCoin().outpoint)
  if (young === undefined) throw new Error('no coin')
  expect(state.coins.isMature(young, young.height + 99)).toBe(false)
  expect(state.coins.isMature(young, young.height + 100)).toBe(true)
})

test('blocks that are reorganised away give their transactions back, and the new branch takes them', () => {
  const txid = send(signPayment(state, 5_000n))
  const old = state.hashOf(state.mine(NOON_MS))
  state.mine(NOON_MS)
  const before = state.tip.height
  const { forkHeight } = state.reorganise(2, NOON_MS)
  expect(forkHeight).toBe(before - 2)
  expect(state.tip.height).toBe(before + 1)
  expect(state.heightOfRecent(txid)).toBe(forkHeight + 1)
  expect(state.hashOf(state.index.atHeight(forkHeight + 1) ?? state.tip)).not.toBe(old)
  expect(state.mempool.size).toBe(0)
  expect(state.index.staleTips()).toMatchObject([{ branchLength: 2 }])
})

test('a held transaction is left out of blocks with all that descends from it, until it is released', () => {
  const payment = signPayment(state, 5_000n)
  const held = send(payment)
  const change = transactionOf(payment).outputs[1]?.amount ?? 0n
  const child = craft({
    outpoint: outpointOf(held, 1),
    amountIn: change,
    outputs: [{ script: SHOP_SCRIPT, amount: change - 500n }],
  })
  state.submit(child, NOON_MS)
  const other = send(signPayment(state, 6_000n))
  state.mempool.hold(held)
  state.mine(NOON_MS)
  expect(state.mempool.txids()).toEqual([held, child.txid])
  expect(state.heightOfRecent(other)).not.toBeNull()
  state.mempool.release(held)
  state.mine(NOON_MS)
  expect(state.mempool.size).toBe(0)
})

test('a transaction that a reorganised block held can be double-spent afterwards', () => {
  const payment = signPayment(state, 5_000n)
  const txid = send(payment)
  state.mine(NOON_MS)
  state.mempool.hold(txid)
  state.reorganise(1, NOON_MS)
  expect(state.mempool.txids()).toEqual([txid])
  send(payment.replacement)
  state.mine(NOON_MS)
  expect(state.coins.get(outpointOf(txid, 0))).toBeUndefined()
  expect(state.mempool.size).toBe(0)
})

test('coins are conserved through any reorganisation', () => {
  const sum = () => {
    // Fees are burned: the coins that exist only ever get fewer by them.
    const outpoints = [...state.coins.walletOutpoints()]
    return outpoints.reduce((total, at) => total + (state.coins.get(at)?.amount ?? 0n), 0n)
  }
  const start = sum()
  const wallet = new Wallet(state)
  for (let round = 0; round < 12; round++) {
    for (let count = 0; count < 3; count++) send(signPayment(state, 1_000n, wallet))
    state.mine(NOON_MS)
    if (round % 3 === 2) state.reorganise(1 + (round % 4), NOON_MS)
  }
  while (state.mempool.size > 0) state.mine(NOON_MS)
  expect(start - sum()).toBe(36n * (1_000n + 1_000n))
})

test('more payments between two blocks than there are coins are made from change, and change of change', () => {
  state.close()
  const premine = { outputs: 3, amountEach: 100_000_000n }
  state = openState(`${folder.path}/small.log`, { parameters: { premine } })
  const wallet = new Wallet(state)
  for (let count = 0; count < 40; count++) send(signPayment(state, 10_000n, wallet))
  expect(state.mempool.size).toBe(40)
  state.mine(NOON_MS)
  expect(state.mempool.size).toBe(0)
})

test('a reorganisation never reaches the blocks that fund the wallet', () => {
  expect(() => state.reorganise(1, NOON_MS)).toThrow(RangeError)
  state.mine(NOON_MS)
  state.reorganise(1, NOON_MS)
  expect(() => state.reorganise(3, NOON_MS)).toThrow(RangeError)
  for (let count = 0; count <= MAX_REORGANISATION_DEPTH; count++) state.mine(NOON_MS)
  state.reorganise(MAX_REORGANISATION_DEPTH, NOON_MS)
  expect(() => state.reorganise(MAX_REORGANISATION_DEPTH + 1, NOON_MS)).toThrow(RangeError)
})

test('block times never go back behind the median, however the clock does', () => {
  const before = state.medianTimeS(state.tip)
  for (let count = 0; count < 30; count++) state.mine(NOON_MS - 86_400_000)
  expect(state.tip.timeS).toBeGreaterThan(before)
})

/** The coin that a payment spends. */
function spentBy(signed: { readonly hex: string }): { outpoint: string; amountIn: bigint } {
  const transaction = transactionOf(signed)
  const input = transaction.inputs[0]
  if (input === undefined) throw new Error('no input')
  const amountIn = transaction.outputs.reduce((sum, output) => sum + output.amount, 0n) + 1_000n
  return { outpoint: outpointOf(input.txid, input.index), amountIn }
}
