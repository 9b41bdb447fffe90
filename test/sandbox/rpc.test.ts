// @module-tag litecoind
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { systemClock } from '../../src/runtime/clock.ts'
import { createLogger } from '../../src/runtime/log.ts'
import { type SandboxChain, startUtxoChain } from '../../src/sandbox/utxo/start-utxo-chain.ts'
import { startNode, type TestNode } from '../support/litecoind.ts'
import { openState, signPayment, temporaryFolder, transactionOf } from '../support/sandbox-state.ts'

let folder: Awaited<ReturnType<typeof temporaryFolder>>
let sandbox: SandboxChain
let node: TestNode
beforeAll(async () => {
  folder = await temporaryFolder()
  node = await startNode('litecoin', { blocks: 110 })
  sandbox = await startUtxoChain({
    chain: 'litecoin',
    dataDir: folder.path,
    clock: systemClock,
    log: createLogger('silent'),
    blockIntervalMs: 0,
  })
  await sandbox.client.mine(9)
})
afterAll(async () => {
  await sandbox.stop()
  await node.remove()
  await folder.remove()
})

type Answer = { status: number; result: unknown; error: { code: number; message: string } | null }

async function call(rpcUrl: string, method: string, params: readonly unknown[] = []): Promise<Answer> {
  return post(rpcUrl, JSON.stringify({ id: 1, method, params }))
}

async function post(rpcUrl: string, body: string): Promise<Answer> {
  const url = new URL(rpcUrl)
  const authorization = `Basic ${Buffer.from(`${url.username}:${url.password}`).toString('base64')}`
  const response = await fetch(url.origin, { method: 'POST', headers: { authorization }, body })
  const answer = (await response.json()) as Omit<Answer, 'status'>
  return { ...answer, status: response.status }
}

const both = () => [sandbox.rpcUrl, node.rpcUrl] as const
const UNKNOWN = 'ab'.repeat(32)

describe('what litecoind refuses, the sandbox refuses with the same status, code and words', () => {
  test.each<[string, readonly unknown[]]>([
    ['getblockhash', [9_999]],
    ['getblockhash', [-1]],
    ['getblockhash', ['abc']],
    ['getblock', ['abc']],
    ['getblock', ['z'.repeat(64)]],
    ['getblock', [UNKNOWN]],
    ['getblock', [5]],
    ['getblockheader', [UNKNOWN]],
    ['getmempoolentry', [UNKNOWN]],
    ['getrawtransaction', [UNKNOWN]],
    ['getrawtransaction', [UNKNOWN, false, UNKNOWN]],
    ['sendrawtransaction', ['00']],
    ['sendrawtransaction', ['zz']],
    ['testmempoolaccept', [['00']]],
    ['getrawmempool', [true, true]],
    ['nosuchmethod', []],
    ['constructor', []],
  ])('%s %j', async (method, params) => {
    const [ours, theirs] = await Promise.all(both().map((url) => call(url, method, params)))
    expect(theirs?.error).not.toBeNull()
    expect(ours).toEqual(theirs)
  })

  test('a call that is no JSON, and one without the password', async () => {
    const [ours, theirs] = await Promise.all(both().map((url) => post(url, '{bad')))
    expect(ours).toEqual(theirs)
    const answers = await Promise.all(
      both().map((url) => fetch(new URL(url).origin, { method: 'POST', body: '{}' })),
    )
    expect(answers.map((answer) => answer.status)).toEqual([401, 401])
  })

  test('a transaction whose inputs are unknown', async () => {
    // Valid in form, of a chain that neither knows.
    const other = await temporaryFolder()
    const state = openState(`${other.path}/chain.log`)
    const { hex } = signPayment(state, 5_000n)
    state.close()
    await other.remove()
    const [ours, theirs] = await Promise.all(both().map((url) => call(url, 'sendrawtransaction', [hex])))
    expect(ours).toEqual(theirs)
    const tested = await Promise.all(both().map((url) => call(url, 'testmempoolaccept', [[hex]])))
    // Nodes later than this one tell the wtxid too.
    expect(tested[0]).toMatchObject(tested[1] ?? {})
  })
})

describe('what litecoind answers, the sandbox answers with the same fields of the same types', () => {
  test.each(['getblockheader', 'getblock'])('%s', async (method) => {
    const shapes = await Promise.all(
      both().map(async (url) => {
        const { result: hash } = await call(url, 'getblockhash', [50])
        const { result } = await call(url, method, [hash, 1].slice(0, method === 'getblock' ? 2 : 1))
        return shapeOf(result)
      }),
    )
    expect(shapes[0]).toEqual(shapes[1])
  })

  test('getblockchaininfo, getnetworkinfo, getmempoolinfo: every field is one of the node’s', async () => {
    for (const method of ['getblockchaininfo', 'getnetworkinfo', 'getmempoolinfo']) {
      const [ours, theirs] = await Promise.all(both().map((url) => call(url, method)))
      // Core added the tip's `time` later than this node's version.
      const { time: _, ...known } = shapeOf(ours?.result)
      expect(shapeOf(theirs?.result)).toMatchObject(known)
    }
  })

  test('a waiting transaction: entry, bytes, verdict, coins', async () => {
    const address = await node.newAddress()
    const theirTxid = await node.pay(address, '1', { replaceable: true })
    const signed = await sandbox.client.signPayment(address, 100_000_000n)
    const fresh = await call(sandbox.rpcUrl, 'testmempoolaccept', [[signed.hex]])
    expect(fresh.result).toMatchObject([
      { txid: signed.txid, allowed: true, vsize: 141, fees: { base: 0.00001 } },
    ])
    await sandbox.client.send(signed.hex)
    const answers = async (url: string, txid: string) => ({
      entry: shapeOf((await call(url, 'getmempoolentry', [txid])).result),
      pool: (await call(url, 'getrawmempool')).result,
      sequence: shapeOf((await call(url, 'getrawmempool', [false, true])).result),
      again: (await call(url, 'testmempoolaccept', [[(await call(url, 'getrawtransaction', [txid])).result]]))
        .result,
    })
    const ours = await answers(sandbox.rpcUrl, signed.txid)
    const theirs = await answers(node.rpcUrl, theirTxid)
    // Litecoin 0.21 repeats the fees outside of `fees` as it did of old.
    expect(theirs.entry).toMatchObject(ours.entry)
    expect(ours.pool).toEqual([signed.txid])
    expect(theirs.pool).toEqual([theirTxid])
    expect(ours.sequence).toEqual(theirs.sequence)
    expect(ours.again).toMatchObject([{ allowed: false, 'reject-reason': 'txn-already-in-mempool' }])
    expect(theirs.again).toMatchObject([{ allowed: false, 'reject-reason': 'txn-already-in-mempool' }])
    const { result: coin } = await call(sandbox.rpcUrl, 'gettxout', [signed.txid, 0])
    expect(coin).toMatchObject({ value: 1, confirmations: 0, coinbase: false })
    const [hash = ''] = await sandbox.client.mine(1)
    expect((await call(sandbox.rpcUrl, 'gettxout', [signed.txid, 0])).result).toMatchObject({
      confirmations: 1,
    })
    expect((await call(sandbox.rpcUrl, 'getrawtransaction', [signed.txid])).error?.code).toBe(-5)
    const { result: raw } = await call(sandbox.rpcUrl, 'getrawtransaction', [signed.txid, false, hash])
    expect(raw).toBe(signed.hex)
    expect((await call(sandbox.rpcUrl, 'sendrawtransaction', [signed.hex])).error).toEqual({
      code: -27,
      message: 'Transaction already in block chain',
    })
  })

  test('several calls in one request', async () => {
    const batch = JSON.stringify([
      { id: 7, method: 'getblockhash', params: [0] },
      { id: 8, method: 'nosuchmethod' },
    ])
    const answers = await Promise.all(both().map((url) => post(url, batch)))
    expect(answers[0]).toEqual(answers[1])
  })
})

test('a real litecoind accepts the blocks of the sandbox, with and without payments in them', async () => {
  const other = await temporaryFolder()
  const real = await startNode('litecoin', { blocks: 0 })
  // With the subsidy that consensus allows in place of the premine the chain is an ordinary one.
  const state = openState(`${other.path}/chain.log`, {
    parameters: { premine: { outputs: 4, amountEach: 1_250_000_000n } },
    nowMs: Date.now(),
  })
  try {
    for (let count = 0; count < 3; count++) {
      state.submit(transactionOf(signPayment(state, 5_000n + BigInt(count))), Date.now())
    }
    state.mine(Date.now())
    state.mine(Date.now())
    for (let height = 1; height <= state.tip.height; height++) {
      const block = state.index.atHeight(height)
      if (block === null) throw new Error('no block')
      expect(await real.rpc('submitblock', [state.blockBytes(block).toString('hex')])).toBeNull()
    }
    expect(await real.rpc('getbestblockhash')).toBe(state.hashOf(state.tip))
  } finally {
    state.close()
    await real.remove()
    await other.remove()
  }
})

/** Names of fields and types of their values. */
function shapeOf(value: unknown): Record<string, string> {
  if (typeof value !== 'object' || value === null) throw new Error(`no object: ${JSON.stringify(value)}`)
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => [name, Array.isArray(field) ? 'array' : typeof field]),
  )
}
