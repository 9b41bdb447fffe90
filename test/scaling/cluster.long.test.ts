// @module-tag patroni
import { randomInt } from 'node:crypto'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { UtxoSandboxClient } from '../../src/sandbox/utxo/utxo-sandbox-client.ts'
import { type Random, seededRandom } from '../support/random.ts'
import { until } from '../support/until.ts'
import { answerChallenges, startReceiver, type WebhookReceiver } from '../support/webhook-receiver.ts'
import {
  type PaylinkMachines,
  type SandboxChains,
  startPaylinkMachines,
  startSandboxChains,
} from './paylink-machines.ts'
import { askServer, type DatabaseNode, startPostgresCluster } from './postgres-cluster.ts'
import { expectAllSettled, expectAuditOk, openShop, payOnChain, type Sale, sandboxUrl, sell } from './shop.ts'
import { openTestNetwork, type TestNetwork } from './test-network.ts'

/**
 * docs/cluster.md, carried out: nine processes of Paylink on three machines, a PostgreSQL of three, and for minutes
 * everything is killed and cut off, at random, while shops sell and buyers pay. `CLUSTER_SECONDS` says for how long.
 */

const SECONDS = Number(process.env.CLUSTER_SECONDS ?? 600)
const SEED = Number(process.env.CLUSTER_SEED ?? randomInt(2 ** 31))
const SHOPS = 4
const RECOVERY_MS_MAX = 10_000
const WHOLE_MS_MAX = 300_000
const TIMEOUT_MS = SECONDS * 1_000 + 900_000
/** Three API, two watchers, three delivery workers and one signer. */
const LAYOUT = {
  app1: ['api', 'watcher', 'delivery', 'signer'],
  app2: ['api', 'watcher', 'delivery'],
  app3: ['api', 'delivery'],
}

let folder: string
let network: TestNetwork
let nodes: readonly DatabaseNode[]
let chains: SandboxChains
let paylink: PaylinkMachines
let receiver: WebhookReceiver
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'paylink-cluster-'))
  await chmod(folder, 0o711)
  network = await openTestNetwork(folder)
  receiver = await startReceiver({ host: network.ownAddress, respond: answerChallenges })
  nodes = await startPostgresCluster(network, folder)
  await createDatabase()
  chains = await startSandboxChains(network, folder)
  const databases = nodes.map(({ machine }) => machine)
  paylink = await startPaylinkMachines(network, databases, chains, { folder, layout: LAYOUT })
}, TIMEOUT_MS)
afterAll(async () => {
  await receiver?.close()
  await network?.close()
  if (process.env.CLUSTER_KEEP !== '1') await rm(folder, { recursive: true, force: true, maxRetries: 5 })
}, TIMEOUT_MS)

test('primaries killed and cut off, processes killed at random: nothing is lost and nothing doubled', {
  timeout: TIMEOUT_MS,
}, async () => {
  console.log(`seed ${SEED}, ${SECONDS} s`)
  const hooks = `http://${network.ownAddress}:${receiver.port}/hooks`
  const shop = await openShop(paylink, paylink.apiUrls, hooks)
  const chain = new UtxoSandboxClient(await sandboxUrl(chains))
  const sold: Sale[] = []
  const answeredAt: number[] = []
  const faults: unknown[] = []
  const endsAt = Date.now() + SECONDS * 1_000
  const random = seededRandom(SEED)

  const keepSelling = async () => {
    while (Date.now() < endsAt) {
      const sale = await sell(shop)
      answeredAt.push(Date.now())
      sold.push(sale)
      await payOnChain(chain, sale.invoice)
    }
  }
  const shops = Array.from({ length: SHOPS }, () => keepSelling().catch((error) => void faults.push(error)))
  const recoveries: { fault: string; ms: number }[] = []
  let broken = 0
  while (Date.now() < endsAt - 20_000) {
    await pause(3_000 + random.below(5_000))
    // Both kinds of a lost primary come first, so that a short run has them too.
    await breakSomething(broken < 2 ? broken : random.below(4), random, answeredAt, recoveries)
    broken += 1
  }
  await Promise.all(shops)
  expect(faults).toEqual([])
  console.log(`${sold.length} invoices, recoveries after promotion: ${JSON.stringify(recoveries)}`)

  for (const node of nodes) await node.machine.mend()
  for (const machine of paylink.machines) await machine.mend()
  await expectAllSettled(sold, receiver)
  await expectAuditOk(paylink)
  expect(recoveries.length).toBeGreaterThan(0)
  expect(recoveries.filter(({ ms }) => ms > RECOVERY_MS_MAX)).toEqual([])
})

/** One fault, and where a primary was lost, how long after the promotion of another the first invoice is answered. */
async function breakSomething(
  kind: number,
  random: Random,
  answeredAt: readonly number[],
  recoveries: { fault: string; ms: number }[],
): Promise<void> {
  if (kind <= 1) {
    const primary = await findPrimary()
    const fault = kind === 0 ? 'killed' : 'cut off'
    console.log(`primary ${primary.machine.name} ${fault}`)
    await (kind === 0 ? primary.kill() : primary.machine.cut())
    const promotedAt = await promotionBeside(primary)
    await until(() => (answeredAt.at(-1) ?? 0) > promotedAt, { timeoutMs: 60_000 })
    const first = answeredAt.find((at) => at > promotedAt) ?? Number.POSITIVE_INFINITY
    recoveries.push({ fault: `${primary.machine.name} ${fault}`, ms: first - promotedAt })
    await pause(2_000)
    if (kind === 0) primary.start()
    else await primary.machine.mend()
    await untilWhole()
    return
  }
  if (kind === 2) {
    const victim = random.pick([chains.process, ...paylink.processes])
    console.log(`${victim.name} killed`)
    await victim.kill()
    return
  }
  const machine = random.pick(paylink.machines)
  console.log(`${machine.name} cut off`)
  await machine.cut()
  await pause(6_000 + random.below(6_000))
  await machine.mend()
}

async function findPrimary(): Promise<DatabaseNode> {
  let found: DatabaseNode | undefined
  await until(
    async () => {
      for (const node of nodes) if (await node.isPrimary()) found = node
      return found !== undefined
    },
    { timeoutMs: 60_000 },
  )
  if (found === undefined) throw new Error('there is no primary')
  return found
}

async function promotionBeside(lost: DatabaseNode): Promise<number> {
  const others = nodes.filter((node) => node !== lost)
  await until(async () => (await Promise.all(others.map((node) => node.isPrimary()))).some((is) => is), {
    timeoutMs: 90_000,
  })
  return Date.now()
}

/**
 * Before the next fault both standbys follow the primary again: two machines lost at once is another promise. The primary
 * itself says so, since a machine that is back answers for a standby before it has found that its timeline has ended.
 */
async function untilWhole(): Promise<void> {
  await until(
    async () => {
      try {
        const { rows } = await askServer(
          (await findPrimary()).machine,
          `select count(*)::int as standbys from pg_stat_replication where state = 'streaming'
         having bool_or(sync_state = 'sync')`,
        )
        return z.object({ standbys: z.number() }).safeParse(rows[0]).data?.standbys === 2
      } catch {
        // It is going up or down; the time above ends the asking.
        return false
      }
    },
    { timeoutMs: WHOLE_MS_MAX },
  )
}

async function createDatabase(): Promise<void> {
  await askServer((await findPrimary()).machine, 'create database paylink')
}
