import { afterEach, beforeEach, expect, test } from 'vitest'
import { RpcClient } from '../../src/chain/utxo/rpc-client.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { createLogger } from '../../src/runtime/log.ts'
import { type SandboxChain, startUtxoChain } from '../../src/sandbox/utxo/start-utxo-chain.ts'
import { temporaryFolder } from '../support/sandbox-state.ts'
import { until } from '../support/until.ts'

const SHOP = 'rltc1qqurswpc8qurswpc8qurswpc8qurswpc8ntpxlg'
const NEWEST_BLOCKS = 10

let folder: Awaited<ReturnType<typeof temporaryFolder>>
let chain: SandboxChain
let rpc: RpcClient
const open = () =>
  startUtxoChain({
    chain: 'litecoin',
    dataDir: folder.path,
    clock: systemClock,
    log: createLogger('silent'),
    blockIntervalMs: 0,
  })
beforeEach(async () => {
  folder = await temporaryFolder()
  chain = await open()
  rpc = new RpcClient(chain.rpcUrl, 'the sandbox chain')
})
afterEach(async () => {
  await rpc.close()
  await chain.stop()
  await folder.remove()
})

const waiting = () => rpc.callRaw('getrawmempool', []) as Promise<string[]>

async function restart(): Promise<void> {
  await chain.stop()
  chain = await open()
}

test('a double-spend cut off halfway is completed after a restart; no block takes the first meanwhile', async () => {
  const { txid, hex, replacement } = await chain.client.signPayment(SHOP, 1_000n)
  await chain.client.keepStep({ txid, held: true, hex: replacement.hex })
  await chain.client.sendHeld(hex)
  await restart()
  await chain.client.mine(2)
  expect(await waiting()).toEqual([txid])
  await until(async () => (await waiting())[0] === replacement.txid, { what: 'the replacement was sent' })
  await chain.client.mine(1)
  expect(await waiting()).toEqual([])
  await expect(chain.client.send(hex)).rejects.toThrow()
})

test('a payment whose block was to be reorganised away is, once, after a restart', async () => {
  const { txid, hex } = await chain.client.signPayment(SHOP, 1_000n)
  await chain.client.keepStep({ txid, held: false, hex: null })
  await chain.client.send(hex)
  await chain.client.mine(1)
  const before = await rpc.callRaw('getbestblockhash', [])
  await restart()
  await until(async () => (await headerOf(before)).confirmations === -1, { what: 'the block left the chain' })
  expect(await holds(txid)).toBe(true)
})

test('what was done is not done again, and a second part that was left is sent', async () => {
  const done = await chain.client.signPayment(SHOP, 1_000n)
  const left = await chain.client.signPayment(SHOP, 2_000n)
  await chain.client.keepStep({ txid: done.txid, held: false, hex: done.hex })
  await chain.client.done(done.txid)
  await chain.client.keepStep({ txid: left.txid, held: false, hex: left.hex })
  await restart()
  await until(async () => (await waiting()).length > 0, { what: 'the second part was sent' })
  expect(await waiting()).toEqual([left.txid])
})

const headerOf = (hash: unknown) =>
  rpc.callRaw('getblockheader', [hash]) as Promise<{ confirmations: number; previousblockhash: string }>

/** Whether one of the newest blocks holds the transaction. */
async function holds(txid: string): Promise<boolean> {
  const input = Buffer.from(txid, 'hex')
  expect(input.length).toBe(32)
  let hash: unknown = await rpc.callRaw('getbestblockhash', [])
  for (let count = 0; count < NEWEST_BLOCKS; count++) {
    const { tx } = (await rpc.callRaw('getblock', [hash, 1])) as { tx: string[] }
    if (tx.includes(txid)) return true
    hash = (await headerOf(hash)).previousblockhash
  }
  return false
}
