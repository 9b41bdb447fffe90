// @module-tag patroni
import { randomInt, randomUUID } from 'node:crypto'
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { parseCoinAmount } from '../../src/core/money.ts'
import { UtxoSandboxClient } from '../../src/sandbox/utxo/utxo-sandbox-client.ts'
import { type Random, seededRandom } from '../support/random.ts'
import { until } from '../support/until.ts'
import { answerChallenges, startReceiver, type WebhookReceiver } from '../support/webhook-receiver.ts'
import { type PaylinkMachines, startPaylinkMachines } from './paylink-machines.ts'
import { type DatabaseNode, startPostgresCluster } from './postgres-cluster.ts'
import { openTestNetwork, type TestNetwork } from './test-network.ts'

/**
 * docs/scaling.md, carried out: nine processes of Paylink on three machines, a PostgreSQL of three, and for minutes
 * everything is killed and cut off, at random, while shops sell and buyers pay. `CLUSTER_SECONDS` says for how long.
 */

const SECONDS = Number(process.env.CLUSTER_SECONDS ?? 600)
const SEED = Number(process.env.CLUSTER_SEED ?? randomInt(2 ** 31))
const SHOPS = 4
const REQUEST_MS_MAX = 8_000
const RECOVERY_MS_MAX = 10_000
const SETTLED_MS_MAX = 240_000
const WHOLE_MS_MAX = 300_000
/** Longer than any fault lasts. */
const INSIST_MS_MAX = 240_000
const TIMEOUT_MS = SECONDS * 1_000 + 900_000

let folder: string
let network: TestNetwork
let nodes: readonly DatabaseNode[]
let paylink: PaylinkMachines
let receiver: WebhookReceiver
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'paylink-cluster-'))
  await chmod(folder, 0o711)
  network = await openTestNetwork(folder)
  receiver = await startReceiver({ host: network.ownAddress, respond: answerChallenges })
  nodes = await startPostgresCluster(network, folder)
  await createDatabase()
  paylink = await startPaylinkMachines(network, nodes, folder)
}, TIMEOUT_MS)
afterAll(async () => {
  await receiver?.close()
  await network?.close()
  if (process.env.CLUSTER_KEEP !== '1') await rm(folder, { recursive: true, force: true, maxRetries: 5 })
}, TIMEOUT_MS)

const invoiceShape = z.object({ id: z.string(), status: z.string(), address: z.string(), amount: z.string() })
type Invoice = z.output<typeof invoiceShape>

test('primaries killed and cut off, processes killed at random: nothing is lost and nothing doubled', {
  timeout: TIMEOUT_MS,
}, async () => {
  console.log(`seed ${SEED}, ${SECONDS} s`)
  const key = await openShop()
  const chain = new UtxoSandboxClient(await sandboxUrl())
  const sold = new Map<string, Invoice>()
  const answeredAt: number[] = []
  const faults: unknown[] = []
  const endsAt = Date.now() + SECONDS * 1_000
  const random = seededRandom(SEED)

  const shop = async () => {
    while (Date.now() < endsAt) {
      const key_ = randomUUID()
      const invoice = await insist(key, 'POST', '/invoices', { usd_amount: '5.00', asset: 'LTC' }, key_)
      answeredAt.push(Date.now())
      sold.set(key_, invoiceShape.parse(invoice))
      await payOnChain(chain, invoiceShape.parse(invoice))
    }
  }
  const shops = Array.from({ length: SHOPS }, () => shop().catch((error) => void faults.push(error)))
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
  console.log(`${sold.size} invoices, recoveries after promotion: ${JSON.stringify(recoveries)}`)

  for (const node of nodes) await node.machine.mend()
  for (const machine of paylink.machines) await machine.mend()
  await expectAllSettled(key, [...sold.values()])
  const audit = await paylink.command('audit', '--json')
  const { ok, checks } = auditShape.parse(JSON.parse(audit.stdout))
  expect({ ok, failed: checks.filter(({ status }) => status === 'failed') }).toEqual({ ok: true, failed: [] })
  expect(recoveries.length).toBeGreaterThan(0)
  expect(recoveries.filter(({ ms }) => ms > RECOVERY_MS_MAX)).toEqual([])
})

const auditShape = z.object({ ok: z.boolean(), checks: z.array(z.looseObject({ status: z.string() })) })

/** Every key made one invoice, every invoice was paid once, and every one was told of under one id. */
async function expectAllSettled(key: string, sold: readonly Invoice[]): Promise<void> {
  expect(new Set(sold.map(({ id }) => id)).size).toBe(sold.length)
  expect(new Set(sold.map(({ address }) => address)).size).toBe(sold.length)
  for (const { id } of sold) {
    await until(
      async () => {
        const { status } = invoiceShape.parse(await insist(key, 'GET', `/invoices/${id}`))
        return status === 'paid'
      },
      { timeoutMs: SETTLED_MS_MAX },
    )
  }
  const paidShape = z.object({ id: z.string(), event_type: z.string(), data: z.object({ id: z.string() }) })
  const told = () => {
    const events = new Map<string, Set<string>>()
    for (const { body } of receiver.events) {
      const event = paidShape.safeParse(JSON.parse(body.toString('utf8')))
      if (!event.success || event.data.event_type !== 'invoice.paid') continue
      const { id, data } = event.data
      events.set(data.id, (events.get(data.id) ?? new Set()).add(id))
    }
    return events
  }
  await until(
    () => {
      const events = told()
      return sold.every(({ id }) => events.has(id))
    },
    { timeoutMs: SETTLED_MS_MAX },
  )
  const events = told()
  expect([...events.values()].filter((ids) => ids.size !== 1)).toEqual([])
  // None that no shop was answered: each key was repeated until it was.
  expect(events.size).toBe(sold.length)
}

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
    const victim = random.pick(paylink.processes)
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
          await findPrimary(),
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

/** Repeats a request, each time at another process, until one answers it: as a shop does that has an idempotency key. */
async function insist(
  key: string,
  method: string,
  path: string,
  body?: object,
  idempotencyKey?: string,
): Promise<unknown> {
  const giveUpAt = Date.now() + INSIST_MS_MAX
  for (let attempt = 0; Date.now() < giveUpAt; attempt++) {
    const url = paylink.apiUrls[(attempt + path.length) % paylink.apiUrls.length]
    try {
      const response = await fetch(`${url}/api/v1${path}`, {
        method,
        headers: {
          authorization: `Bearer ${key}`,
          'content-type': 'application/json',
          ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
        },
        signal: AbortSignal.timeout(REQUEST_MS_MAX),
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      const answer: unknown = await response.json()
      if (response.status < 300) return answer
      // What is in flight elsewhere, too much, or not to be had now passes; anything else is a fault of ours.
      if (![409, 429, 503].includes(response.status))
        throw new WrongAnswer(`${response.status} ${JSON.stringify(answer)}`)
    } catch (error) {
      if (error instanceof WrongAnswer) throw error
    }
    await pause(100)
  }
  throw new Error(`nobody answered ${method} ${path} within ${INSIST_MS_MAX} ms`)
}

class WrongAnswer extends Error {
  override name = 'WrongAnswer'
}

async function payOnChain(chain: UtxoSandboxClient, { address, amount }: Invoice): Promise<void> {
  const units = parseCoinAmount(amount, 8)
  if (units === null) throw new Error(`${amount} is no amount`)
  let signed: Awaited<ReturnType<UtxoSandboxClient['signPayment']>> | null = null
  const giveUpAt = Date.now() + INSIST_MS_MAX
  for (;;) {
    try {
      // Signed once: the same bytes sent twice are one payment.
      signed ??= await chain.signPayment(address, units)
      await chain.send(signed.hex)
      return
    } catch (error) {
      // The node has it already.
      if (String(error).includes('already')) return
      // A chain that was killed in between forgot whom it had given these coins to, and another buyer paid with them.
      if (String(error).includes('missingorspent')) signed = null
      if (Date.now() > giveUpAt) throw error
      await pause(200)
    }
  }
}

async function openShop(): Promise<string> {
  const command = (line: string) => paylink.command(...line.split(' '))
  const merchant = await command('merchant create --name S --email s@example.com --json')
  const { id } = z.object({ id: z.string() }).parse(JSON.parse(merchant.stdout))
  const scopes = 'invoices:read,invoices:write,webhooks:read,webhooks:write'
  const made = await command(`key create --merchant ${id} --mode test --scopes ${scopes} --json`)
  const { key } = z.object({ key: z.string() }).parse(JSON.parse(made.stdout))
  const url = `http://${network.ownAddress}:${receiver.port}/hooks`
  const endpoint = z
    .object({ id: z.string() })
    .parse(
      await insist(
        key,
        'POST',
        '/webhook-endpoints',
        { url, subscribed_events: ['invoice.paid'] },
        randomUUID(),
      ),
    )
  await insist(key, 'POST', `/webhook-endpoints/${endpoint.id}/verify`)
  return key
}

async function sandboxUrl(): Promise<string> {
  const text = await readFile(join(paylink.sandboxFolder, 'litecoin', 'rpc.json'), 'utf8')
  const { port, password } = z.object({ port: z.number(), password: z.string() }).parse(JSON.parse(text))
  return `http://sandbox:${password}@${paylink.sandboxAddress}:${port}`
}

async function createDatabase(): Promise<void> {
  await askServer(await findPrimary(), 'create database paylink')
}

async function askServer({ machine }: DatabaseNode, statement: string): Promise<pg.QueryResult> {
  const client = new pg.Client({
    connectionString: `postgresql://postgres:postgres@${machine.address}:5432/postgres`,
    connectionTimeoutMillis: 2_000,
    query_timeout: 10_000,
  })
  // The connection may be lost with its server; what is asked then fails and is asked again.
  client.on('error', () => {})
  await client.connect()
  try {
    return await client.query(statement)
  } finally {
    await client.end()
  }
}
