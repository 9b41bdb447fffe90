import { RawTx, Transaction } from '@scure/btc-signer'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { AddressSet } from '../../src/chain/address-set.ts'
import { scanBlock } from '../../src/chain/utxo/scan-block.ts'
import { buildBlock, meetsTarget, NOTHING_CLAIMED, parseBlock } from '../../src/sandbox/utxo/block.ts'
import { CHAIN_PARAMETERS } from '../../src/sandbox/utxo/chain-parameters.ts'
import type { ChainState } from '../../src/sandbox/utxo/chain-state.ts'
import { ChainTransaction } from '../../src/sandbox/utxo/chain-transaction.ts'
import { EncodingError, sha256d } from '../../src/sandbox/utxo/encoding.ts'
import {
  openState,
  SHOP_SCRIPT,
  signPayment,
  temporaryFolder,
  transactionOf,
} from '../support/sandbox-state.ts'

let state: ChainState
let folder: Awaited<ReturnType<typeof temporaryFolder>>
beforeAll(async () => {
  folder = await temporaryFolder()
  state = openState(`${folder.path}/chain.log`)
})
afterAll(async () => {
  state.close()
  await folder.remove()
})

test('the sandbox and @scure/btc-signer read one transaction alike', () => {
  const signed = signPayment(state, 123_456n)
  const ours = transactionOf(signed)
  const theirs = Transaction.fromRaw(Buffer.from(signed.hex, 'hex'), { allowUnknownOutputs: true })
  expect(ours.txid).toBe(theirs.id)
  expect(ours.weight).toBe(theirs.weight)
  expect(ours.vsize).toBe(theirs.vsize)
  expect(ours.wtxidBytes()).toEqual(sha256d(Buffer.from(theirs.hex, 'hex')))
  expect(ours.outputs.map((output) => output.amount)).toEqual([
    theirs.getOutput(0).amount,
    theirs.getOutput(1).amount,
  ])
})

test('a block with payments parses to what was put in it, and every coinbase is one for @scure/btc-signer', () => {
  const payments = [signPayment(state, 5_000n), signPayment(state, 7_000n)].map(transactionOf)
  const bytes = buildBlock({
    height: 200,
    previousHash: state.hashOf(state.tip),
    timeS: 1_800_000_000,
    extraNonce: 9,
    coinbaseOutputs: [NOTHING_CLAIMED],
    transactions: payments,
    proofOfWork: CHAIN_PARAMETERS.litecoin.proofOfWork,
  })
  const block = parseBlock(bytes)
  expect(block.header.previousHash).toBe(state.hashOf(state.tip))
  expect(block.transactions.slice(1).map((one) => one.txid)).toEqual(payments.map((one) => one.txid))
  const coinbase = RawTx.decode(block.transactions[0]?.bytes ?? Buffer.alloc(0))
  expect(coinbase.inputs).toHaveLength(1)
  // BIP34: a push of two bytes, 200 and the sign's zero.
  expect(Buffer.from(coinbase.inputs[0]?.finalScriptSig ?? []).subarray(0, 3)).toEqual(Buffer.of(2, 200, 0))
  // BIP141: the commitment, and its reserved value as the coinbase's witness.
  expect(
    Buffer.from(coinbase.outputs[1]?.script ?? [])
      .subarray(0, 6)
      .toString('hex'),
  ).toBe('6a24aa21a9ed')
  expect(coinbase.witnesses).toEqual([[Buffer.alloc(32)]])
  expect(meetsTarget(CHAIN_PARAMETERS.litecoin.proofOfWork(bytes.subarray(0, 80)))).toBe(true)
})

test("the watcher's own parser reads the sandbox's blocks", () => {
  const payment = transactionOf(signPayment(state, 31_337n))
  const bytes = buildBlock({
    height: 300,
    previousHash: state.hashOf(state.tip),
    timeS: 1_800_000_000,
    extraNonce: 1,
    coinbaseOutputs: [NOTHING_CLAIMED],
    transactions: [payment],
    proofOfWork: CHAIN_PARAMETERS.bitcoin.proofOfWork,
  })
  const watched = new AddressSet()
  watched.add([SHOP_SCRIPT.subarray(2)])
  expect(scanBlock(bytes, watched)).toMatchObject({
    hash: parseBlock(bytes).hash,
    parentHash: state.hashOf(state.tip),
    timeMs: 1_800_000_000_000,
    outputs: [{ txid: payment.txid, outputIndex: 0, amount: 31_337n }],
  })
})

test('bytes that are no transaction are an EncodingError and nothing else', () => {
  const whole = Buffer.from(signPayment(state, 999n).hex, 'hex')
  for (let length = 0; length < whole.length; length++) {
    expect(() => ChainTransaction.parse(whole.subarray(0, length))).toThrow(EncodingError)
  }
  expect(() => ChainTransaction.parse(Buffer.concat([whole, Buffer.of(0)]))).toThrow(EncodingError)
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
      try {
        const { inputs, outputs } = ChainTransaction.parse(bytes)
        expect(inputs.length * outputs.length).toBeGreaterThan(0)
      } catch (error) {
        expect(error).toBeInstanceOf(EncodingError)
      }
    }),
  )
})

test('the genesis blocks are those of every regtest', () => {
  const hashes = [CHAIN_PARAMETERS.bitcoin, CHAIN_PARAMETERS.litecoin].map(
    (parameters) => parseBlock(parameters.genesisBlock).hash,
  )
  expect(hashes).toEqual([
    '0f9188f13cb7b2c71f2a335e3a4fc328bf5beb436012afca590b1a11466e2206',
    '530827f38f93b43ed12af0b3ad25a288dc02ed74d6d7857862df51fc56c416f9',
  ])
})
