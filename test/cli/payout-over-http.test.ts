import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { getAddressDecoder } from '@solana/kit'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { encodeEvmAddress } from '../../src/chain/evm/address.ts'
import { newEvmAddress } from '../support/anvil.ts'
import { type App, makePlace, startApp } from '../support/app.ts'
import { randomLitecoinAddress } from '../support/resources.ts'
import { until } from '../support/until.ts'

let folder: Awaited<ReturnType<typeof makePlace>>
let app: App
beforeAll(async () => {
  folder = await makePlace()
  app = await startApp(folder)
})
afterAll(async () => {
  await app?.stop()
  await folder?.remove()
})

// biome-ignore lint/suspicious/noExplicitAny: what a test reads of an answer, it compares.
type Json = any
async function ask(method: string, path: string, body?: object): Promise<Json> {
  const answer = await app.api(method, `/api/v1${path}`, body)
  expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300)
  return answer.body
}

const balanceOf = async (asset: string): Promise<Json> =>
  (await ask('GET', '/balances')).data.find((one: Json) => one.asset === asset)
const litecoin = (): Promise<Json> => balanceOf('LTC')

test('what two buyers paid on the sandbox is paid out over the API by the signer’s process, and confirmed', async () => {
  const before = Number((await litecoin()).available)
  for (let paid = 0; paid < 2; paid++) {
    const invoice = await ask('POST', '/invoices', { usd_amount: '40', asset: 'LTC' })
    await ask('POST', `/test/invoices/${invoice.id}/pay`, { scenario: 'exact' })
    await until(async () => (await ask('GET', `/invoices/${invoice.id}`)).status === 'paid', {
      timeoutMs: 60_000,
    })
  }
  const { available } = await litecoin()
  expect(Number(available)).toBeGreaterThan(before)
  const destination = await ask('POST', '/payout-destinations', {
    asset: 'LTC',
    address: randomLitecoinAddress('regtest'),
    name: 'Treasury',
  })
  const payout = await ask('POST', '/payouts', { destination_id: destination.id, amount: available })
  expect((await litecoin()).reserved).toBe(available)
  await ask('POST', `/payouts/${payout.id}/approve`)
  await until(async () => (await ask('GET', `/payouts/${payout.id}`)).status === 'confirmed', {
    timeoutMs: 60_000,
  })
  const confirmed = await ask('GET', `/payouts/${payout.id}`)
  expect(confirmed.txid).toMatch(/^[0-9a-f]{64}$/)
  expect(await litecoin()).toMatchObject({ available: '0', reserved: '0' })
  const { data } = await ask('GET', `/events?resource_id=${payout.id}`)
  expect(data.map((event: Json) => event.event_type).reverse()).toEqual([
    'payout.requested',
    'payout.approved',
    'payout.submitted',
    'payout.confirmed',
  ])
  expect(data[0].data).toEqual(confirmed)
}, 240_000)

test('ether on both chains, USDC and SOL are swept and paid out over the API; sandboxes give the gas', async () => {
  const assets = ['ETH', 'ETH_BASE', 'USDC_BASE', 'SOL']
  for (const asset of assets) {
    const invoice = await ask('POST', '/invoices', { usd_amount: '40', asset })
    await ask('POST', `/test/invoices/${invoice.id}/pay`, { scenario: 'exact' })
    await until(async () => (await ask('GET', `/invoices/${invoice.id}`)).status === 'paid', {
      timeoutMs: 90_000,
    })
  }
  const payouts = new Map<string, string>()
  for (const asset of assets) {
    const { available } = await balanceOf(asset)
    const address =
      asset === 'SOL'
        ? getAddressDecoder().decode(randomBytes(32))
        : encodeEvmAddress(newEvmAddress().addressBytes)
    const destination = await ask('POST', '/payout-destinations', { asset, address, name: 'Treasury' })
    const { id } = await ask('POST', '/payouts', { destination_id: destination.id, amount: available })
    await ask('POST', `/payouts/${id}/approve`)
    payouts.set(asset, id)
  }
  for (const [asset, id] of payouts) {
    await until(async () => (await ask('GET', `/payouts/${id}`)).status === 'confirmed', {
      timeoutMs: 90_000,
    })
    const confirmed = await ask('GET', `/payouts/${id}`)
    expect(confirmed.txid).toMatch(asset === 'SOL' ? /^[1-9A-HJ-NP-Za-km-z]{86,88}$/ : /^0x[0-9a-f]{64}$/)
    expect(Number(confirmed.network_fee) > 0).toBe(asset !== 'USDC_BASE')
    expect(await balanceOf(asset)).toMatchObject({ available: '0', reserved: '0' })
  }
}, 240_000)

test('a payout is paid once, however often the program is killed between approval and confirmation', async () => {
  const invoice = await ask('POST', '/invoices', { usd_amount: '40', asset: 'LTC' })
  await ask('POST', `/test/invoices/${invoice.id}/pay`, { scenario: 'exact' })
  await until(async () => (await ask('GET', `/invoices/${invoice.id}`)).status === 'paid', {
    timeoutMs: 60_000,
  })
  const { available } = await litecoin()
  const destination = await ask('POST', '/payout-destinations', {
    asset: 'LTC',
    address: randomLitecoinAddress('regtest'),
    name: 'Treasury',
  })
  const payout = await ask('POST', '/payouts', { destination_id: destination.id, amount: available })
  await ask('POST', `/payouts/${payout.id}/approve`)
  for (const afterMs of [300, 900]) {
    await pause(afterMs)
    await app.kill()
    app = await startApp(folder)
  }
  await until(async () => (await ask('GET', `/payouts/${payout.id}`)).status === 'confirmed', {
    timeoutMs: 60_000,
  })
  const journal = await readFile(join(folder.dataDir, 'signer', 'payouts.jsonl'), 'utf8')
  expect(journal.split('\n').filter((line) => line.includes(payout.id))).toHaveLength(1)
  expect(await litecoin()).toMatchObject({ available: '0', reserved: '0' })
  const { data } = await ask('GET', `/events?resource_id=${payout.id}`)
  expect(data.map((event: Json) => event.event_type).sort()).toEqual([
    'payout.approved',
    'payout.confirmed',
    'payout.requested',
    'payout.submitted',
  ])
}, 240_000)
