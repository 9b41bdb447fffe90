import { type ChildProcess, spawn } from 'node:child_process'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { RpcClient } from '../../src/chain/utxo/rpc-client.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { createLogger } from '../../src/runtime/log.ts'
import { SandboxRefused } from '../../src/sandbox/sandbox-rpc.ts'
import { startUtxoChain } from '../../src/sandbox/utxo/start-utxo-chain.ts'
import { UtxoSandboxClient } from '../../src/sandbox/utxo/utxo-sandbox-client.ts'
import { temporaryFolder } from '../support/sandbox-state.ts'
import { until } from '../support/until.ts'

const SHOP = 'rltc1qqurswpc8qurswpc8qurswpc8qurswpc8ntpxlg'
const ROUNDS = 5
const PAYMENTS_PER_ROUND = 12
const BLOCKS_MAX = 10_000

/** Serves the sandbox in a process of its own, from the build that `npm test` makes first. */
const PROGRAM = `
  import { startUtxoChain } from ${JSON.stringify(new URL('../../dist/sandbox/utxo/start-utxo-chain.js', import.meta.url))}
  import { createLogger } from ${JSON.stringify(new URL('../../dist/runtime/log.js', import.meta.url))}
  const chain = await startUtxoChain({
    chain: 'litecoin', dataDir: process.argv[1], clock: () => new Date(), log: createLogger('silent'), blockIntervalMs: 7,
  })
  console.log(chain.rpcUrl)
  setInterval(() => {}, 1000)
`

let folder: Awaited<ReturnType<typeof temporaryFolder>>
beforeEach(async () => {
  folder = await temporaryFolder()
})
afterEach(() => folder.remove())

async function spawnSandbox(): Promise<{ child: ChildProcess; rpcUrl: string }> {
  const child = spawn(process.execPath, ['--input-type=module', '-e', PROGRAM, folder.path], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  child.stdout?.on('data', (chunk: Buffer) => {
    output += chunk.toString()
  })
  await until(() => output.includes('\n'), { what: 'the sandbox serves' })
  return { child, rpcUrl: output.trim() }
}

test('what the sandbox answered before kill -9 is there after it: every payment waits or stands in a block', async () => {
  const sent: string[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const { child, rpcUrl } = await spawnSandbox()
    const client = new UtxoSandboxClient(rpcUrl)
    const exited = new Promise((resolve) => child.once('exit', resolve))
    const enough = sent.length + PAYMENTS_PER_ROUND
    while (child.exitCode === null && child.signalCode === null) {
      try {
        const payment = await client.signPayment(SHOP, 1_000n)
        await client.send(payment.hex)
        sent.push(payment.txid)
        // The kill comes in the middle of whatever the next calls cause.
        if (sent.length === enough) setTimeout(() => child.kill('SIGKILL'), round * 4)
        if (sent.length % 9 === 0) await client.reorganise(1)
      } catch (error) {
        // A reorganisation is refused where it would reach the first blocks; anything else is the kill.
        if (!(error instanceof SandboxRefused)) break
      }
    }
    await exited
    await client.close()
  }
  expect(sent.length).toBeGreaterThanOrEqual(ROUNDS * PAYMENTS_PER_ROUND)
  const chain = await startUtxoChain({
    chain: 'litecoin',
    dataDir: folder.path,
    clock: systemClock,
    log: createLogger('silent'),
    blockIntervalMs: 0,
  })
  const known = await transactionsOf(chain.rpcUrl)
  await chain.stop()
  expect(sent.filter((txid) => !known.has(txid))).toEqual([])
})

/** Ids of everything in the best chain and the mempool. */
async function transactionsOf(rpcUrl: string): Promise<Set<unknown>> {
  const rpc = new RpcClient(rpcUrl, 'the sandbox chain')
  const known = new Set((await rpc.callRaw('getrawmempool', [])) as string[])
  let hash: unknown = await rpc.callRaw('getbestblockhash', [])
  for (let count = 0; count < BLOCKS_MAX && hash !== undefined; count++) {
    const block = (await rpc.callRaw('getblock', [hash, 1])) as { tx: string[]; previousblockhash?: string }
    for (const txid of block.tx) known.add(txid)
    hash = block.previousblockhash
  }
  await rpc.close()
  return known
}
