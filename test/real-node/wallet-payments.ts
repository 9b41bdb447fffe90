import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type App, makeDataDir, startApp } from '../support/app.ts'
import type { NodeChainName } from '../support/daemons.ts'
import { startNode, type TestNode } from '../support/litecoind.ts'
import { until } from '../support/until.ts'
import { type PlainReceiver, startPlainReceiver } from './plain-receiver.ts'

const TOLD_MS_MAX = 120_000

type Invoice = {
  id: string
  status: string
  amount: string
  amount_confirmed: string
  payment_uri: string
  payments: { status: string; amount: string }[]
}

/**
 * The whole straight line with nothing of ours at its ends: a stock wallet pays what the payment URI says, and a
 * receiver made of Node's own modules is notified by signed webhooks.
 */
export function describeWalletPayments(
  title: string,
  options: { chain: NodeChainName; asset: 'BTC' | 'LTC'; zmq: boolean; isSilent?: boolean },
): void {
  const { chain, asset, zmq, isSilent = false } = options
  describe(title, () => {
    let place: Awaited<ReturnType<typeof makeDataDir>>
    let node: TestNode
    let receiver: PlainReceiver
    let app: App

    beforeAll(async () => {
      place = await makeDataDir()
      node = await startNode(chain, { zmq })
      receiver = await startPlainReceiver()
      app = await startApp({
        ...place,
        env: {
          [`TEST_${chain.toUpperCase()}_RPC_URL`]: node.rpcUrl,
          ...(node.zmqUrl === null ? {} : { [`TEST_${chain.toUpperCase()}_ZMQ_URL`]: node.zmqUrl }),
          WEBHOOK_ALLOW_PRIVATE: '1',
        },
      })
      const endpoint = await app.api('POST', '/api/v1/webhook-endpoints', {
        url: receiver.url,
        subscribed_events: ['*'],
      })
      expect(endpoint.status).toBe(201)
      const { id, secret } = endpoint.body as { id: string; secret: string }
      receiver.useSecret(secret)
      const verified = await app.api('POST', `/api/v1/webhook-endpoints/${id}/verify`)
      expect(verified.body).toMatchObject({ status: 'enabled' })
    })
    afterAll(async () => {
      await app.stop()
      await receiver.close()
      await node.remove()
      await place.remove()
    })

    async function createInvoice(): Promise<Invoice> {
      const order = { usd_amount: '49.99', asset, external_reference: 'order-1001' }
      const { status, body } = await app.api('POST', '/api/v1/invoices', order)
      expect(status).toBe(201)
      return body as Invoice
    }

    /** What a wallet reads out of `<chain>:<address>?amount=<coins>`. */
    function readPaymentUri(uri: string): { address: string; amount: string } {
      const url = new URL(uri)
      expect(url.protocol).toBe(`${chain}:`)
      return { address: url.pathname, amount: url.searchParams.get('amount') ?? '' }
    }

    const toldOf = (invoice: Invoice): string[] =>
      receiver.events
        .filter(({ resource_id }) => resource_id === invoice.id)
        .sort((one, other) => one.sequence - other.sequence)
        .map(({ event_type }) => event_type)
    const untilTold = (invoice: Invoice, type: string) =>
      until(() => toldOf(invoice).includes(type), { timeoutMs: TOLD_MS_MAX })
    /** Events are sent side by side: one may arrive before those that came to be before it. */
    const expectTold = async (invoice: Invoice, types: readonly string[]) => {
      await until(() => toldOf(invoice).length >= types.length, { timeoutMs: TOLD_MS_MAX })
      expect(toldOf(invoice)).toEqual(types)
    }
    const read = async (invoice: Invoice) =>
      (await app.api('GET', `/api/v1/invoices/${invoice.id}`)).body as Invoice

    test('a stock wallet pays an invoice in full from its payment URI, and a plain receiver gets every event', async () => {
      const invoice = await createInvoice()
      const { address, amount } = readPaymentUri(invoice.payment_uri)
      expect(amount).toBe(invoice.amount)
      await node.pay(address, amount)
      await untilTold(invoice, 'invoice.payment_detected')
      expect((await read(invoice)).status).toBe('payment_detected')
      await node.mine(1)
      await untilTold(invoice, 'invoice.paid')
      await expectTold(invoice, [
        'invoice.created',
        'invoice.payment_detected',
        'invoice.confirming',
        'invoice.paid',
      ])
      const paid = receiver.events.find(
        ({ resource_id, event_type }) => resource_id === invoice.id && event_type === 'invoice.paid',
      )
      expect(paid?.data).toMatchObject({
        id: invoice.id,
        status: 'paid',
        amount_confirmed: invoice.amount,
        external_reference: 'order-1001',
      })
      expect(receiver.rejected()).toBe(0)
    })

    test('a stock wallet pays an invoice in two parts, the second to the same address', async () => {
      const invoice = await createInvoice()
      const { address, amount } = readPaymentUri(invoice.payment_uri)
      const units = BigInt(Math.round(Number(amount) * 1e8))
      const first = (units * 2n) / 5n
      await node.pay(address, coinsOf(first))
      await node.mine(1)
      await untilTold(invoice, 'invoice.partially_paid')
      const partial = (await read(invoice)) as Invoice & { amount_remaining: string }
      expect(partial.status).toBe('partially_paid')
      expect(partial.amount_remaining).toBe(coinsOf(units - first))
      await node.pay(address, partial.amount_remaining)
      await node.mine(1)
      await untilTold(invoice, 'invoice.paid')
      await expectTold(invoice, [
        'invoice.created',
        'invoice.payment_detected',
        'invoice.confirming',
        'invoice.partially_paid',
        'invoice.confirming',
        'invoice.paid',
      ])
      const paid = await read(invoice)
      expect(paid).toMatchObject({ status: 'paid', amount_confirmed: invoice.amount })
      expect(paid.payments.map(({ status }) => status)).toEqual(['confirmed', 'confirmed'])
    })

    test('readiness and the figures say whether notifications are configured and not heard', async () => {
      const { networks } = (await (await fetch(`${app.baseUrl}/readyz`)).json()) as {
        networks: { [network: string]: { notifications_silent: string | null } }
      }
      const reason = networks[`${chain}-test`]?.notifications_silent
      expect(reason).toEqual(isSilent ? expect.stringMatching(/was built without ZeroMQ/) : null)
      const figures = await (await fetch(`${app.operatorUrl}/metrics`)).text()
      const figure = isSilent ? 1 : 0
      expect(figures).toContain(`paylink_network_notifications_silent{name="${chain}-test"} ${figure}`)
    })

    test('afterwards chain, ledger, invoices and events agree', async () => {
      const { code, stdout } = await app.command('audit', '--json')
      const { checks } = JSON.parse(stdout) as { checks: { name: string; status: string }[] }
      expect(checks.filter(({ status }) => status !== 'ok')).toEqual([])
      expect(checks.map(({ name }) => name)).toContain(`chain_${chain}-test`)
      expect(code).toBe(0)
    })

    const CHAIN_BREAKS = [
      [
        'a transfer stands in a block that is not on the chain',
        `update transfer set block_hash = repeat('0', 64)`,
      ],
      ['a transfer says another amount than the chain', `update transfer set amount = amount - 1`],
      ['a payment on the chain was never recorded', `delete from transfer`],
      ['a transfer was made up', `update transfer set txid = md5(txid) || md5(txid)`],
    ] as const

    test.each(CHAIN_BREAKS)('the auditor notices that %s', async (_what, sql) => {
      const owner = await connectOwner(app.dataDir)
      try {
        await owner.query('create table transfer_kept as select * from transfer')
        await owner.query(sql)
        const { code, stdout } = await app.command('audit', '--json')
        const { checks } = JSON.parse(stdout) as { checks: { name: string; status: string }[] }
        const failed = checks.filter(({ status }) => status === 'failed').map(({ name }) => name)
        expect(failed).toContain(`chain_${chain}-test`)
        expect(code).toBe(1)
      } finally {
        await owner.query('delete from transfer')
        await owner.query('insert into transfer select * from transfer_kept')
        await owner.query('drop table transfer_kept')
        await owner.end()
      }
    })

    /** The owner of the embedded database, as nobody but its machine's administrator can connect. */
    async function connectOwner(dataDir: string): Promise<pg.Client> {
      const { port, password } = JSON.parse(await readFile(join(dataDir, 'postgres.json'), 'utf8'))
      const client = new pg.Client({
        host: '127.0.0.1',
        port,
        user: 'postgres',
        password,
        database: 'paylink',
      })
      await client.connect()
      return client
    }
  })
}

/** Base units as a canonical amount: no trailing zeros. */
function coinsOf(units: bigint): string {
  const digits = units.toString().padStart(9, '0')
  return `${digits.slice(0, -8)}.${digits.slice(-8)}`.replace(/\.?0+$/, '')
}
