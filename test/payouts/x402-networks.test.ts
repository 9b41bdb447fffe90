import { ExactEvmScheme } from '@x402/evm'
import { decodePaymentResponseHeader, wrapFetchWithPaymentFromConfig } from '@x402/fetch'
import { afterEach, expect, test } from 'vitest'
import { EVM_CHAINS } from '../../src/core/chain/evm-networks.ts'
import { saveAssetPrices } from '../../src/db/invoices/asset-prices.ts'
import { createX402Part } from '../../src/http/api/x402.ts'
import { type HttpServer, startHttpServer } from '../../src/http/server.ts'
import { signX402 } from '../../src/payouts/sign/sign-x402.ts'
import { invoiceToken } from '../../src/secrets/checkout-token.ts'
import { hex } from '../support/anvil.ts'
import { anyAddress } from '../support/any-address.ts'
import { startBorNode } from '../support/bor-node.ts'
import { coinsOf, EvmPayoutWorld } from '../support/evm-payout-world.ts'
import { freePort } from '../support/free-port.ts'
import { startNitroNode } from '../support/nitro-node.ts'
import { keyring } from '../support/payout-steps.ts'
import { seedMerchant } from '../support/seed.ts'
import { newPayer } from '../support/x402-payer.ts'

const AMOUNT = 25_000_000n
const HOUR_MS = 3_600_000
const GWEI = 10n ** 9n
/** In 10⁻¹² US dollar. */
const DOLLAR = 10n ** 12n

let world: EvmPayoutWorld
let server: HttpServer
const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  await server?.stop(() => {})
  for (const close of closing.splice(0)) await close()
  await world?.close()
})

/** The node of a network as its own software answers. */
async function nodeUrl(): Promise<string> {
  if (world.chain !== 'arbitrum' && world.chain !== 'polygon') return world.anvil.url
  const start = world.chain === 'arbitrum' ? startNitroNode : startBorNode
  const node = await start(world.anvil)
  closing.push(() => node.close())
  if ('setDataGas' in node) node.setDataGas(300_000n)
  return node.url
}

// Those of Base have a file of their own.
test.each(EVM_CHAINS.filter((chain) => chain !== 'base'))(
  'the public client pays an invoice on %s without the network’s coin, but not while its gas costs more',
  async (chain) => {
    world = await EvmPayoutWorld.open(chain)
    const { coin, token: asset } = coinsOf(chain)
    const client = world.clientAt(await nodeUrl())
    const tenant = await seedMerchant(world.database)
    const port = await freePort()
    const baseUrl = `http://127.0.0.1:${port}`
    const { log, database } = world
    const part = createX402Part({
      ...{ pool: database.pools.api, clock: () => new Date(), log, keyring, baseUrl },
      ...{ notifier: { activity: () => {} }, issuedAddresses: anyAddress, maySend: () => true },
    })
    server = await startHttpServer({ host: '127.0.0.1', port, parts: [part], log })
    await world.fuelHotWallet(10n ** 21n)
    const now = Date.now()
    const terms = { asset, amount: AMOUNT, createdAtMs: now, expiresAtMs: now + HOUR_MS }
    const invoice = await world.openInvoice(tenant, terms)
    const url = `${baseUrl}/i/${invoiceToken(keyring, { ...tenant, invoiceId: invoice.id })}/x402`
    const turn = async () => {
      world.now = new Date()
      await world.anvil.mine(1)
      const tracker = world.trackerOf([{ name: 'the node', chain: client }])
      await tracker.pass()
      await signX402(await world.signer())
      await tracker.pass()
      await world.watch()
    }
    const price = (of: typeof coin, usd: bigint) => ({ livemode: false, asset: of, price: usd * DOLLAR })
    await saveAssetPrices(database.owner, [price(coin, 3_000n), price(asset, 1n)], world.now)
    await turn()
    expect((await fetch(url)).status).toBe(402)
    await world.anvil.rpc('anvil_setNextBlockBaseFeePerGas', [hex(500n * GWEI)])
    await turn()
    expect((await fetch(url)).status).toBe(503)
    await world.anvil.rpc('anvil_setNextBlockBaseFeePerGas', [hex(GWEI)])
    await turn()
    const payer = newPayer()
    await world.pay(asset, payer.address, AMOUNT)
    await turn()
    const pay = wrapFetchWithPaymentFromConfig(fetch, {
      schemes: [{ network: 'eip155:31337', client: new ExactEvmScheme(payer) }],
      spendControls: { allowedAssets: true },
    })
    let response: Response | null = null
    const paid = pay(url).then((answer) => {
      response = answer
      return answer
    })
    for (let count = 0; response === null && count < 40; count++) await turn()
    const told = decodePaymentResponseHeader((await paid).headers.get('payment-response') ?? '')
    expect(told).toMatchObject({ success: true, network: 'eip155:31337', payer: payer.address })
    expect(await world.holds(asset, invoice.address)).toBe(AMOUNT)
    expect(await world.holds(asset, payer.address)).toBe(0n)
  },
)
