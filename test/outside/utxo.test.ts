import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { AddressSet } from '../../src/chain/address-set.ts'
import { HttpConnection } from '../../src/chain/http-connection.ts'
import {
  blockStatusSchema,
  esploraTransactionsSchema,
  outspendSchema,
} from '../../src/chain/utxo/esplora-answers.ts'
import { EsploraChain } from '../../src/chain/utxo/esplora-chain.ts'
import { EsploraClient } from '../../src/chain/utxo/esplora-client.ts'
import { NodeChain } from '../../src/chain/utxo/node-chain.ts'
import { recognizeGenesis } from '../../src/chain/utxo/require-realm.ts'
import { RpcClient } from '../../src/chain/utxo/rpc-client.ts'
import { HUGE, type Outside, PAGE, recordedAnswers, startOutside } from './outside.ts'

/** What Esplora servers, Bitcoin Core and those who offer it document, read by the clients that find payments. */

const { answer, unused } = recordedAnswers('utxo')
/** A genuine block, whose header has its proof of work. */
const BLOCK = '0000000000000000000320283a032748cef8227873ff4872689bf23f1cda83a5'
const SETTING = 'BITCOIN_RPC_URL'
let outside: Outside
let esplora: EsploraClient
let rpc: RpcClient
beforeAll(async () => {
  outside = await startOutside()
})
beforeEach(() => {
  esplora = new EsploraClient(`esplora+${outside.url}/planted-key/api`, SETTING)
  rpc = new RpcClient(`${outside.url}/planted-key`, SETTING)
})
afterEach(() => Promise.all([esplora.close(), rpc.close()]))
afterAll(async () => {
  await outside.close()
  expect([...unused]).toEqual([])
})

const told = async (ask: () => Promise<unknown>) => {
  const error = await ask().then(
    () => null,
    (reason: unknown) => reason,
  )
  if (!(error instanceof Error)) throw new Error('it did not fail')
  expect(error.message).not.toContain('planted-key')
  return error.message
}

test('blocks of Esplora and of mempool.space are proved headers', async () => {
  let block = 'esplora block'
  outside.give(({ path }) => {
    if (path.endsWith('/status')) return answer('esplora block status')
    return answer(path.includes('/block-height/') ? 'esplora hash' : block)
  })
  const chain = new EsploraChain(esplora, new AddressSet(), (hash) =>
    recognizeGenesis({ chain: 'bitcoin', livemode: true, setting: SETTING }, hash),
  )
  expect((await chain.parameters()).name).toBe('main')
  for (const form of ['esplora block', 'mempool.space block']) {
    block = form
    expect(await chain.header(BLOCK)).toEqual({
      hash: BLOCK,
      height: 840_000,
      time: 1_713_571_767,
      confirmations: 1,
      previousblockhash: '0000000000000000000172014ba58d66455762add0512355ad651207918494ab',
    })
  }
})

test('transactions of an address and what spent an output are understood', async () => {
  outside.give(answer('esplora transactions'))
  expect(await esplora.json('/x', esploraTransactionsSchema)).toMatchObject([
    { txid: '5'.repeat(64), vin: [{ txid: '6'.repeat(64), vout: 1 }], status: { confirmed: false } },
  ])
  outside.give(answer('esplora spent output'))
  expect(await esplora.json('/x', outspendSchema)).toEqual({ spent: true, txid: '7'.repeat(64) })
  outside.give(answer('esplora unspent output'))
  expect(await esplora.json('/x', outspendSchema)).toEqual({ spent: false })
  outside.give(answer('esplora no such block'))
  expect(await esplora.json('/x', outspendSchema)).toBeNull()
})

test('each trouble of an Esplora server has its own words', async () => {
  const status = async (given: Parameters<Outside['give']>[0]) => {
    outside.give(given)
    return told(() => esplora.json('/x', blockStatusSchema))
  }
  const { host } = outside
  const form = `${host} answers /x in a form that is not known: ${SETTING} must point to an Esplora server's API, as in esplora+https://host/api`
  expect(await status(answer('mempool.space too many requests'))).toBe(
    `the Esplora server at ${host} takes no more requests from us for now: run one of your own`,
  )
  expect(await status(answer('esplora maintenance'))).toBe(
    `the Esplora server at ${host} has a fault of its own (503)`,
  )
  expect(await status(answer('esplora page in place of the API'))).toBe(form)
  expect(await status(answer('esplora block without a field'))).toBe(form)
  outside.give(answer('esplora refused transaction'))
  expect(await told(() => esplora.broadcast('00'))).toBe(
    `the Esplora server at ${host} refused with 400: sendrawtransaction RPC error: {"code":-26,"message":"min relay fee not met, 0 < 110"}`,
  )
})

test('a node’s state is understood', async () => {
  outside.give(answer('node getblockchaininfo'))
  expect(await new NodeChain(rpc, new AddressSet()).state()).toMatchObject({
    chain: 'main',
    blocks: 925_001,
    initialblockdownload: false,
  })
})

test.each([
  ['node warming up', 'the node at HOST is starting: Verifying blocks…'],
  ['node wrong password', `the node at HOST refuses the user name or password: correct them in ${SETTING}`],
  ['node other address', "the node at HOST does not serve this address: add it to the node's rpcallowip"],
  ['node overloaded', 'the node at HOST is overloaded: raise its rpcworkqueue'],
  ['node provider, too many calls', 'HOST answers only so many calls (429): raise its plan'],
  ['node provider, bad gateway', 'HOST fails with HTTP 502'],
  ['node method not found', 'the node answered getblockchaininfo with: Method not found (-32601)'],
  [
    'node info without a field',
    `HOST answers getblockchaininfo in a form that is not known: ${SETTING} must point to a node of Bitcoin Core's family`,
  ],
])('%s: %s', async (recorded, words) => {
  outside.give(answer(recorded))
  const chain = new NodeChain(rpc, new AddressSet())
  expect(await told(() => chain.state())).toBe(words.replace('HOST', outside.host))
})

test('a page is no node, and an endless answer of any server is cut', async () => {
  outside.give(() => PAGE)
  expect(await told(() => new NodeChain(rpc, new AddressSet()).state())).toBe(
    `what answers at ${outside.host} is no node of Bitcoin Core's family: correct ${SETTING}`,
  )
  outside.give(() => HUGE)
  const limited = new HttpConnection(new URL(outside.url), {
    kind: 'the node',
    setting: SETTING,
    connections: 1,
    answerMsMax: 30_000,
    answerBytesMax: 1_000,
  })
  expect(await told(() => limited.postJson('{}'))).toBe(
    `the node at ${outside.host} sends more than any answer can have`,
  )
  await limited.close()
})
