// @module-tag chromium
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  generateKeyPairSigner,
  getBase64EncodedWireTransaction,
  getTransactionDecoder,
  lamports,
  signTransaction,
} from '@solana/kit'
import { wrapFetchWithPaymentFromConfig } from '@x402/fetch'
import { ExactSvmScheme } from '@x402/svm'
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { ASSETS, type AssetId } from '../../src/core/assets.ts'
import { EVM_CHAINS, isEvmChain } from '../../src/core/chain/evm-networks.ts'
import { EVM_NETWORKS } from '../../src/core/chain/evm-registry.ts'
import { LANGUAGES } from '../../src/web/checkout/language.ts'
import { type App, makeDataDir, startApp } from '../support/app.ts'
import { invoicesOf } from '../support/app-invoices.ts'
import { launchBrowser, photograph } from '../support/browser.ts'
import { litecoinInvoice } from '../support/checkout-invoice.ts'
import { type CheckoutServer, startCheckoutServer } from '../support/checkout-server.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { complaintsOf } from '../support/page-checks.ts'
import { giveTokens, stockClient } from '../support/solana-payer.ts'
import { until } from '../support/until.ts'

/** Wallets that announce themselves to the page by EIP-6963 or the Wallet Standard, as extensions of a browser do. */

type Call = { readonly method: string; readonly params?: readonly unknown[] }
type Answer = { readonly result: unknown } | { readonly error: { code: number; data?: object } }

/** Puts a wallet into every page to come, answered by `answer`; the page's calls pass through unchanged. */
async function inject(page: Page, name: string, answer: (call: Call) => Promise<Answer>): Promise<void> {
  const binding = `wallet_${Math.random().toString(36).slice(2)}`
  await page.exposeFunction(binding, answer)
  await page.addInitScript(
    ([own = '', called = '']) => {
      const ask = (window as unknown as Record<string, (call: Call) => Promise<Answer>>)[own]
      const provider = {
        request: async (call: Call) => {
          const answered = await ask?.(call)
          if (answered && 'result' in answered) return answered.result
          throw Object.assign(new Error('the wallet says no'), answered?.error)
        },
      }
      const info = {
        uuid: own,
        name: called,
        icon: 'data:image/svg+xml,%3Csvg xmlns="http://www.w3.org/2000/svg"/%3E',
      }
      const announce = () =>
        dispatchEvent(
          new CustomEvent('eip6963:announceProvider', { detail: Object.freeze({ info, provider }) }),
        )
      addEventListener('eip6963:requestProvider', announce)
      announce()
    },
    [binding, name],
  )
}

/** Puts a wallet for SOL into every page to come (Wallet Standard); `send` gets what it is to sign, in base64. */
async function injectSolana(
  page: Page,
  wallet: { name: string; address: string; chain: string },
  send: (sent: { transaction: string; chain: string }) => Promise<{ error?: object }>,
): Promise<void> {
  const binding = `wallet_${Math.random().toString(36).slice(2)}`
  await page.exposeFunction(binding, send)
  await page.addInitScript(
    ([own, { name, address, chain }]) => {
      type Sent = { transaction: Uint8Array; chain: string; account: { address: string } }
      const account = { address, chains: [chain], features: [] }
      const standard = {
        version: '1.0.0',
        name,
        icon: 'data:image/svg+xml,%3Csvg xmlns="http://www.w3.org/2000/svg"/%3E',
        chains: [chain],
        accounts: [],
        features: {
          'standard:connect': { version: '1.0.0', connect: async () => ({ accounts: [account] }) },
          'solana:signAndSendTransaction': {
            version: '1.0.0',
            signAndSendTransaction: async ({ transaction, chain, account: by }: Sent) => {
              if (by.address !== address) throw new Error('another account')
              const ask = (
                window as unknown as Record<string, (sent: object) => Promise<{ error?: object }>>
              )[own]
              const sent = { transaction: btoa(String.fromCharCode(...transaction)), chain }
              const answered = await ask?.(sent)
              if (answered?.error) throw Object.assign(new Error('the wallet says no'), answered.error)
              return [{ signature: new Uint8Array(64) }]
            },
          },
        },
      }
      const register = ({ register }: { register: (wallet: object) => void }) => register(standard)
      addEventListener('wallet-standard:app-ready', (event) => register((event as CustomEvent).detail))
      dispatchEvent(new CustomEvent('wallet-standard:register-wallet', { detail: register }))
    },
    [binding, wallet] as const,
  )
}

const PAID_BY_WALLETS: readonly AssetId[] = [
  ...(['ETH', 'ETH_BASE', 'USDC_BASE', 'USDC_ETHEREUM', 'USDC_ARBITRUM', 'USDC_POLYGON'] as const),
  ...(['SOL', 'USDC_SOLANA', 'PYUSD_SOLANA'] as const),
]

const hex = (value: number): string => `0x${value.toString(16)}`

let browser: Browser
beforeAll(async () => {
  browser = await launchBrowser()
})
afterAll(() => browser?.close())

describe('on the sandbox chains', () => {
  let app: App
  let data: Awaited<ReturnType<typeof makeDataDir>>
  let database: TestDatabase
  beforeAll(async () => {
    data = await makeDataDir()
    database = await createTestDatabase()
    app = await startApp({ ...data, env: { DATABASE_URL: database.ownerUrl, X402: '1' } })
    await database.owner.query(
      `insert into payment_rules (merchant_id, livemode, rules, updated_at)
       select id, false, $1, now() from merchant on conflict (merchant_id, livemode) do update set rules = $1`,
      [{ accepted_assets: PAID_BY_WALLETS }],
    )
    await until(async () => (await availableAssets()).length === PAID_BY_WALLETS.length, {
      what: 'every coin can be taken',
    })
  })
  afterAll(async () => {
    await app?.stop()
    await database?.drop()
    await data?.remove()
  })

  const { availableAssets, create, untilStatus } = invoicesOf(() => app)

  /** A wallet over the real sandbox chains, that stands on Ethereum's main chain until it is asked to go elsewhere. */
  async function sandboxWallet() {
    const urls = new Map<number, { url: string; password: string }>()
    for (const chain of EVM_CHAINS) {
      const id = EVM_NETWORKS[chain].sandboxChainId
      const { port, password } = JSON.parse(
        await readFile(join(app.dataDir, 'sandbox', chain, 'rpc.json'), 'utf8'),
      )
      urls.set(id, { url: `http://127.0.0.1:${port}`, password })
    }
    const calls: Call[] = []
    let current = 1
    const answer = async (call: Call): Promise<Answer> => {
      calls.push(call)
      if (call.method === 'eth_chainId') return { result: hex(current) }
      if (call.method === 'eth_requestAccounts')
        return { result: ['0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'] }
      if (call.method === 'wallet_switchEthereumChain') {
        const [{ chainId }] = call.params as [{ chainId: string }]
        if (!urls.has(Number(chainId))) return { error: { code: 4902 } }
        current = Number(chainId)
        return { result: null }
      }
      const node = urls.get(current)
      if (node === undefined) return { error: { code: 4900 } }
      const response = await fetch(node.url, {
        method: 'POST',
        headers: { authorization: `Basic ${Buffer.from(`sandbox:${node.password}`).toString('base64')}` },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...call }),
      })
      return (await response.json()) as Answer
    }
    return { calls, answer }
  }

  test.each(PAID_BY_WALLETS.filter((asset) => ASSETS[asset].keyFamily === 'evm'))(
    '%s is paid to the end from a wallet that stood on another chain',
    async (asset) => {
      const invoice = await create(asset)
      const wallet = await sandboxWallet()
      const page = await browser.newPage()
      const alerts = complaintsOf(page)
      await inject(page, 'Heron Wallet', wallet.answer)
      await page.goto(`${app.baseUrl}${new URL(String(invoice.checkout_url)).pathname}`)
      await page.getByRole('button', { name: 'Pay with Heron Wallet' }).click()
      await expect
        .poll(() => page.locator('h1').textContent())
        .toMatch(/^(Payment detected|Confirming your payment|Payment complete)$/)
      await expect.poll(() => page.locator('h1').textContent()).toBe('Payment complete')
      expect(await untilStatus(invoice.id, 'paid')).toMatchObject({ amount_remaining: '0' })
      const { chain } = ASSETS[asset]
      const chainId = isEvmChain(chain) ? hex(EVM_NETWORKS[chain].sandboxChainId) : ''
      expect(wallet.calls.filter(({ method }) => method === 'wallet_switchEthereumChain')).toEqual([
        { method: 'wallet_switchEthereumChain', params: [{ chainId }] },
      ])
      expect(wallet.calls.filter(({ method }) => method === 'eth_sendTransaction')).toHaveLength(1)
      expect(alerts).toEqual([])
      await page.close()
    },
  )

  test('a program pays USDC on Solana by x402 though nobody has funded anything, until it is paid', async () => {
    const invoice = await create('USDC_SOLANA')
    const url = `${String(invoice.checkout_url).replace('//localhost', '//127.0.0.1')}/x402`
    await until(async () => (await fetch(url)).status === 402, { what: 'payments by x402 are offered' })
    const file = await readFile(join(app.dataDir, 'sandbox', 'solana', 'rpc.json'), 'utf8')
    const { port, password } = JSON.parse(file) as { port: number; password: string }
    const rpcUrl = `http://sandbox:${password}@127.0.0.1:${port}`
    const payer = await generateKeyPairSigner()
    await giveTokens(rpcUrl, 'USDC_SOLANA', payer.address, 1_000_000_000n)
    const network = 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1'
    const client = new ExactSvmScheme(payer, { rpcUrl: `http://127.0.0.1:${port}/${password}` })
    const pay = wrapFetchWithPaymentFromConfig(fetch, {
      schemes: [{ network, client }],
      spendControls: { maxAmountPerPayment: '$1000', allowedAssets: true },
    })
    expect(await (await pay(url)).json()).toMatchObject({ status: 'settled', payer: payer.address })
    await untilStatus(invoice.id, 'paid')
    const doctor = await app.command('doctor')
    expect(doctor.stdout).toMatch(/✓ solana-test: the fee payer of x402 payments \w+ has (5|4\.99\d+) SOL/)
  })

  test.each(PAID_BY_WALLETS.filter((asset) => ASSETS[asset].keyFamily === 'solana'))(
    '%s is paid to the end from a wallet of the Wallet Standard',
    async (asset) => {
      const { port, password } = JSON.parse(
        await readFile(join(app.dataDir, 'sandbox', 'solana', 'rpc.json'), 'utf8'),
      )
      const rpcUrl = `http://sandbox:${password}@127.0.0.1:${port}`
      const node = stockClient(rpcUrl)
      const signer = await generateKeyPairSigner()
      await node.requestAirdrop(signer.address, lamports(1_000_000_000_000n)).send()
      const balance = async () =>
        (await node.getBalance(signer.address, { commitment: 'confirmed' }).send()).value
      await expect.poll(balance).toBeGreaterThan(0n)
      if (asset !== 'SOL') await giveTokens(rpcUrl, asset, signer.address, 100_000_000n)
      const invoice = await create(asset)
      const page = await browser.newPage()
      const alerts = complaintsOf(page)
      let sends = 0
      const wallet = { name: 'Heron Wallet', address: signer.address, chain: 'solana:localnet' }
      await injectSolana(page, wallet, async ({ transaction, chain }) => {
        sends++
        expect(chain).toBe('solana:localnet')
        const given = getTransactionDecoder().decode(Buffer.from(transaction, 'base64'))
        const signed = await signTransaction([signer.keyPair], given as Parameters<typeof signTransaction>[1])
        const wire = getBase64EncodedWireTransaction(signed)
        await node.sendTransaction(wire, { encoding: 'base64', preflightCommitment: 'confirmed' }).send()
        return {}
      })
      await page.goto(`${app.baseUrl}${new URL(String(invoice.checkout_url)).pathname}`)
      await page.getByRole('button', { name: 'Pay with Heron Wallet' }).click()
      await expect.poll(() => page.locator('h1').textContent()).toBe('Payment complete')
      expect(await untilStatus(invoice.id, 'paid')).toMatchObject({ amount_remaining: '0' })
      expect(sends).toBe(1)
      expect(alerts).toEqual([])
      await page.close()
    },
  )
})

describe('a wallet for SOL', () => {
  const address = '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d'
  const inSol = litecoinInvoice({
    asset: 'SOL',
    amount: 412_300_000n,
    address: 'GfEHGBwXDwL5RKDUJwd5Nu6Yj1Nt7cbKDzPVY2bPZC8P',
    confirmations: { SOL: 'finalized' },
  })
  let server: CheckoutServer
  let page: Page
  let asked: object[]
  beforeEach(async () => {
    asked = []
    server = await startCheckoutServer({
      solanaTransfer: async (transfer) => {
        asked.push(transfer)
        return transfer.from === address ? { chain: 'solana:devnet', transaction: 'AQID' } : null
      },
    })
    page = await browser.newPage()
  })
  afterEach(async () => {
    await page.close()
    await server.close()
  })
  const note = () => page.locator('#wallet-note').textContent()
  const button = () => page.locator('#wallet-0')

  test('is asked for exactly this payment, in the page’s own words, and once', async () => {
    const sent: object[] = []
    const alerts = complaintsOf(page)
    await injectSolana(page, { name: 'Heron', address, chain: 'solana:devnet' }, async (each) => {
      sent.push(each)
      return {}
    })
    await page.goto(`${server.show('t', inSol)}?lang=de`)
    await button().click()
    await expect.poll(note).toMatch(/^Heron hat/)
    await photograph(page, 'solana-wallet')
    expect(sent).toEqual([{ chain: 'solana:devnet', transaction: 'AQID' }])
    const wanted = { asset: 'SOL', livemode: false, identity: undefined, amount: 412_300_000n }
    expect(asked).toEqual([{ ...wanted, from: address, to: inSol.address }])
    expect(await button().isDisabled()).toBe(true)
    expect(alerts).toEqual([])
  })

  test.each([
    ['Request rejected in Heron', { code: 4001 }],
    ['Request rejected in Heron', { message: 'Transaction rejected by the user' }],
    ['reported a problem', { message: 'the node is away' }],
  ])('“%s”, and it may be tried again', async (words, error) => {
    await injectSolana(page, { name: 'Heron', address, chain: 'solana:devnet' }, async () => ({ error }))
    await page.goto(server.show('t', inSol))
    await button().click()
    await expect.poll(note).toContain(words)
    expect(await button().isEnabled()).toBe(true)
  })

  test.each([
    ['is on another chain', address, 'solana:mainnet', 'does not have the Solana network'],
    ['is no account', 'nobody', 'solana:devnet', 'Nothing was sent'],
  ])('that %s sends nothing', async (_, from, chain, words) => {
    const sent: object[] = []
    await injectSolana(page, { name: 'Heron', address: from, chain }, async (each) => {
      sent.push(each)
      return {}
    })
    await page.goto(server.show('t', inSol))
    await button().click()
    await expect.poll(note).toContain(words)
    expect(sent).toEqual([])
  })

  test('is offered for SOL alone, and one for Ether is not offered there', async () => {
    await injectSolana(page, { name: 'Heron', address, chain: 'solana:devnet' }, async () => ({}))
    await inject(page, 'Ether only', async () => ({ result: null }))
    await page.goto(server.show('t', inSol))
    await expect.poll(() => page.locator('#wallets button').allTextContents()).toEqual(['Pay with Heron'])
    const inUsdc = litecoinInvoice({ id: 'inv_usdc', asset: 'USDC_BASE', address: `0x${'ab'.repeat(20)}` })
    await page.goto(server.show('u', inUsdc))
    await expect
      .poll(() => page.locator('#wallets button').allTextContents())
      .toEqual(['Pay with Ether only'])
  })

  test('gets nothing to sign for another coin, a paid invoice, or an unknown token', async () => {
    const ask = async (token: string) =>
      (await fetch(`${server.url}/i/${token}/solana-transfer?from=${address}`)).status
    server.show('sol', inSol)
    server.show('usdc', { ...inSol, id: 'inv_usdc', asset: 'USDC_SOLANA' })
    server.show('ltc', litecoinInvoice({ id: 'inv_ltc' }))
    server.show('over', { ...inSol, id: 'inv_over', cancelledAtMs: 1 })
    const tokens = ['sol', 'usdc', 'ltc', 'over', 'none']
    expect(await Promise.all(tokens.map(ask))).toEqual([200, 200, 404, 404, 404])
    expect(asked).toMatchObject([{ asset: 'SOL' }, { asset: 'USDC_SOLANA' }])
    expect((await fetch(`${server.url}/i/sol/solana-transfer`)).status).toBe(503)
  })
})

describe('what a wallet answers', () => {
  let server: CheckoutServer
  let page: Page
  let sent: Call[]
  beforeEach(async () => {
    server = await startCheckoutServer()
    page = await browser.newPage()
    sent = []
  })
  afterEach(async () => {
    await page.close()
    await server.close()
  })

  const inUsdc = litecoinInvoice({
    asset: 'USDC_BASE',
    amount: 49_990_000n,
    address: '0xAb5801a7D398351b8bE11C439e05C5B3259aeC9B',
    confirmations: { USDC_BASE: 1 },
  })
  const BASE_SEPOLIA = 84_532
  /** A wallet on the right chain, but for what it answers to these calls. */
  const walletThat = (answers: { [method: string]: Answer | (() => Answer) }) => async (call: Call) => {
    if (call.method === 'eth_sendTransaction') sent.push(call)
    const own = answers[call.method]
    if (own !== undefined) return typeof own === 'function' ? own() : own
    if (call.method === 'eth_chainId') return { result: hex(BASE_SEPOLIA) }
    return { result: call.method === 'eth_requestAccounts' ? ['0x1'] : null }
  }
  const note = () => page.locator('#wallet-note').textContent()
  const button = () => page.locator('#wallet-0')
  async function press(answers: Parameters<typeof walletThat>[0], query = ''): Promise<void> {
    await inject(page, 'Heron Wallet', walletThat(answers))
    await page.goto(`${server.show('t', inUsdc)}${query}`)
    await button().click()
  }

  test('it is asked for exactly this payment, and for no second one while the first is on its way', async () => {
    await press({})
    await expect.poll(note).toMatch(/^Heron Wallet has sent it/)
    expect(sent).toEqual([
      {
        method: 'eth_sendTransaction',
        params: [
          {
            from: '0x1',
            to: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
            value: '0x0',
            data: `0xa9059cbb${'0'.repeat(24)}ab5801a7d398351b8be11c439e05c5b3259aec9b${'0'.repeat(57)}2fac970`,
          },
        ],
      },
    ])
    expect(await button().isDisabled()).toBe(true)
    // The page is drawn anew by every change; the wallet stays held for this payment, and only for it.
    server.show('t', { ...inUsdc, payments: [] }, 'Another Name')
    await page.evaluate(() => document.dispatchEvent(new Event('drawn')))
    expect(await button().isDisabled()).toBe(true)
    expect(await page.locator('#announcer').textContent()).toMatch(/^Heron Wallet has sent it/)
  })

  test.each([
    ['Request rejected in Heron Wallet', { eth_sendTransaction: { error: { code: 4001 } } }],
    ['Request rejected in Heron Wallet', { eth_requestAccounts: { error: { code: 4001 } } }],
    ['reported a problem', { eth_sendTransaction: { error: { code: -32_000 } } }],
    ['Nothing was sent', { eth_requestAccounts: { error: { code: -32_002 } } }],
    [
      'does not have the Base network',
      { eth_chainId: { result: '0x1' }, wallet_switchEthereumChain: { error: { code: 4902 } } },
    ],
    [
      'Request rejected in Heron Wallet',
      {
        eth_chainId: { result: '0x1' },
        wallet_switchEthereumChain: { error: { code: 4902 } },
        wallet_addEthereumChain: { error: { code: 4001 } },
      },
    ],
    [
      'does not have the Base network',
      {
        eth_chainId: { result: '0x1' },
        wallet_switchEthereumChain: { error: { code: -32_603, data: { originalError: { code: 4902 } } } },
      },
    ],
    // Says that it has gone there, and has not.
    ['does not have the Base network', { eth_chainId: { result: '0x1' } }],
  ] satisfies [string, { [method: string]: Answer }][])(
    '“%s”, and it may be tried again',
    async (words, answers) => {
      await press(answers)
      await expect.poll(note).toContain(words)
      expect(await button().isEnabled()).toBe(true)
      expect(sent.length).toBe('eth_sendTransaction' in answers ? 1 : 0)
    },
  )

  test.each([
    ['goes there by itself', true],
    ['has to be asked again', false],
  ])('a wallet without the network is given it, and %s', async (_, goesByItself) => {
    let [has, chain] = [false, 1]
    const added: unknown[] = []
    await inject(page, 'Heron Wallet', async (call) => {
      if (call.method === 'eth_chainId') return { result: hex(chain) }
      if (call.method === 'wallet_switchEthereumChain') {
        if (!has) return { error: { code: 4902 } }
        chain = BASE_SEPOLIA
      }
      if (call.method === 'wallet_addEthereumChain') {
        has = true
        if (goesByItself) chain = BASE_SEPOLIA
        added.push(...(call.params ?? []))
      }
      return walletThat({})(call)
    })
    await page.goto(server.show('t', inUsdc))
    await button().click()
    await expect.poll(note).toMatch(/^Heron Wallet has sent it/)
    expect(added).toEqual([
      {
        chainId: '0x14a34',
        chainName: 'Base Sepolia',
        nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
        rpcUrls: ['https://sepolia.base.org'],
        blockExplorerUrls: ['https://sepolia.basescan.org'],
      },
    ])
    expect(sent).toHaveLength(1)
  })

  test('every refusal is said in the page’s own language', async () => {
    await inject(page, 'Heron Wallet', walletThat({ eth_sendTransaction: { error: { code: 4001 } } }))
    const said = new Set<string | null>()
    for (const { tag } of LANGUAGES) {
      await page.goto(`${server.show('t', inUsdc)}?lang=${tag}`)
      await button().click()
      await expect.poll(async () => (await note())?.replace(/[\u2066-\u2069]/g, '')).toContain('Heron Wallet')
      await expect.poll(() => button().isEnabled()).toBe(true)
      said.add(await note())
    }
    expect(said.size).toBe(LANGUAGES.length)
  })

  test('is forgotten when the page changes meanwhile: the old payment is not sent', async () => {
    let release = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    const plain = walletThat({})
    const asked: string[] = []
    await inject(page, 'Heron Wallet', async (call) => {
      asked.push(call.method)
      if (call.method === 'eth_requestAccounts') await held
      return plain(call)
    })
    await page.goto(server.show('t', inUsdc))
    await button().click()
    await expect.poll(note).toBe('Please confirm in Heron Wallet.')
    await expect.poll(() => server.checkout.streams.size).toBe(1)
    server.show('t', { ...inUsdc, address: `0x${'ab'.repeat(20)}` })
    await expect.poll(() => page.locator('#address-value').textContent()).toBe(`0x${'ab'.repeat(20)}`)
    release()
    await expect.poll(() => button().isEnabled()).toBe(true)
    // The last that is asked before a payment; what the page does with the answer, it does at once.
    await expect.poll(() => asked).toContain('eth_chainId')
    await page.evaluate(() => new Promise((resolve) => setTimeout(resolve)))
    expect(sent).toEqual([])
  })

  test('a hostile name is only ever text, and many wallets do not flood the page', async () => {
    const alerts = complaintsOf(page)
    const name = `</button><img src=x onerror=alert(1)>\u202e${'W'.repeat(500)}`
    for (let wallet = 0; wallet < 12; wallet++) await inject(page, name, walletThat({}))
    await page.goto(server.show('t', inUsdc))
    expect(await page.locator('#wallets button').count()).toBe(6)
    const text = (await button().textContent()) ?? ''
    expect(text).toMatch(/^Pay with <\/button><img src=x onerror=alert\(1\)>W*$/)
    expect(text.length).toBeLessThan(60)
    expect(await page.locator('#wallets img[onerror]').count()).toBe(0)
    expect(alerts).toEqual([])
  })

  test('there are none for coins that such wallets do not have, nor without script', async () => {
    await inject(page, 'Heron Wallet', walletThat({}))
    await page.goto(server.show('t', litecoinInvoice()))
    expect(await page.locator('#wallets').count()).toBe(0)
    const still = await browser.newPage({ javaScriptEnabled: false })
    await still.goto(server.show('t', inUsdc))
    expect(await still.locator('#wallets').isVisible()).toBe(false)
    await still.close()
  })
})
