import { AccountRole, type Address, address, generateKeyPairSigner, type KeyPairSigner } from '@solana/kit'
import { getAdvanceNonceAccountInstruction, getTransferSolInstruction } from '@solana-program/system'
import { getTransferCheckedInstruction } from '@solana-program/token'
import { decodePaymentResponseHeader, wrapFetchWithPaymentFromConfig } from '@x402/fetch'
import { ExactSvmScheme } from '@x402/svm'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { SolanaRpc } from '../../src/chain/solana/solana-rpc.ts'
import { associatedTokenAccount } from '../../src/chain/solana/token-accounts.ts'
import type { Invoice } from '../../src/core/invoice/types.ts'
import { saveAssetPrices } from '../../src/db/invoices/asset-prices.ts'
import { createX402Part } from '../../src/http/api/x402.ts'
import { type HttpServer, startHttpServer } from '../../src/http/server.ts'
import { signX402 } from '../../src/payouts/sign/sign-x402.ts'
import type { SigningContext, SigningPoint } from '../../src/payouts/sign/signing-context.ts'
import { loadX402FeePayer } from '../../src/payouts/store/x402-fee-payer.ts'
import type { Tenant } from '../../src/postgres/transaction.ts'
import { newId } from '../../src/runtime/new-id.ts'
import { sandboxMintOf } from '../../src/sandbox/solana/sandbox-mints.ts'
import { invoiceToken } from '../../src/secrets/checkout-token.ts'
import { anyAddress } from '../support/any-address.ts'
import { freePort } from '../support/free-port.ts'
import { keyring } from '../support/payout-steps.ts'
import { seedMerchant } from '../support/seed.ts'
import { SolanaPayoutWorld } from '../support/solana-payout-world.ts'
import { decoded } from '../support/x402-payer.ts'
import {
  type SolanaChanges,
  type SolanaRequirements,
  signSolanaPayment,
} from '../support/x402-solana-payer.ts'
import { ANSWER_MS_MAX, storedX402, takingTurns } from '../support/x402-turns.ts'

const AMOUNT = 25_000_000n
const NETWORK = 'solana-test'
const DEVNET = 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1'
const SOL = 10n ** 9n

let world: SolanaPayoutWorld
let tenant: Tenant
let server: HttpServer
let origin: string
let feePayer: string
beforeAll(async () => {
  world = await SolanaPayoutWorld.open()
  tenant = await seedMerchant(world.database)
  const port = await freePort()
  origin = `http://127.0.0.1:${port}`
  const { log, database } = world
  const part = createX402Part({
    ...{ pool: database.pools.api, clock: () => new Date(), log, keyring, baseUrl: origin },
    ...{ notifier: { activity: () => {} }, issuedAddresses: anyAddress, maySend: () => true },
    settleWaitMs: ANSWER_MS_MAX,
  })
  server = await startHttpServer({ host: '127.0.0.1', port, parts: [part], log })
  feePayer = (await loadX402FeePayer(database.owner, NETWORK))?.address ?? ''
})
beforeEach(async () => {
  const held = await world.holds(feePayer)
  await world.solana.pay(feePayer, SOL - held)
  await world.solana.mine(1)
  await turn()
})
afterEach(async () => {
  const { rows } = await world.database.owner.query(
    `select id from x402_authorization a where status = 'refused' and (txid is not null or done_at is null)
     union all select id from transfer where merchant_id = $1 union all select id from ledger_transfer where merchant_id = $1`,
    [tenant.merchantId],
  )
  expect(rows).toEqual([])
})
afterAll(async () => {
  await server?.stop(() => {})
  await world?.close()
})

type Opened = { readonly invoice: Invoice; readonly url: string }

async function open(): Promise<Opened> {
  world.now = new Date()
  const invoice = await world.invoice(tenant, AMOUNT, 0, 'USDC_SOLANA')
  return { invoice, url: `${origin}/i/${invoiceToken(keyring, { ...tenant, invoiceId: invoice.id })}/x402` }
}

/** A payer who holds so much of the token and no SOL. */
async function payerWith(amount: bigint): Promise<KeyPairSigner> {
  const payer = await generateKeyPairSigner()
  if (amount === 0n) return payer
  await world.pay('USDC_SOLANA', payer.address, amount)
  await world.solana.mine(1)
  return payer
}

async function requirementsOf(url: string): Promise<SolanaRequirements> {
  const response = await fetch(url)
  expect(response.status).toBe(402)
  const header = response.headers.get('payment-required')
  const [accepted] = decoded<{ accepts: SolanaRequirements[] }>(header).accepts
  if (accepted === undefined) throw new Error('nothing is accepted')
  return accepted
}

const send = (url: string, header: string): Promise<Response> =>
  fetch(url, { headers: { 'payment-signature': header } })

const sign = async (payer: KeyPairSigner, { url }: Opened, changes: SolanaChanges = {}): Promise<string> =>
  signSolanaPayment(payer, await requirementsOf(url), await world.solana.tipHash(), changes)

/** Everybody takes their turns: watcher, signer, watcher, a block. */
async function turn(changes: Partial<SigningContext> = {}): Promise<void> {
  world.now = new Date()
  await world.tracker().pass()
  await signX402(await world.signer(changes))
  await world.tracker().pass()
  await world.solana.mine(1)
}

const { answered } = takingTurns(turn)

const stored = ({ invoice }: Opened) => storedX402(world.database.owner, invoice.id)
const SETTLED = [{ status: 'settled', reason: null, transactions: 1 }]

const received = ({ invoice }: Opened) => world.holdsTokens('USDC_SOLANA', invoice.address)
const isStored = (opened: Opened) =>
  vi.waitUntil(async () => (await stored(opened)).length > 0, { timeout: ANSWER_MS_MAX })
const reasonOf = (response: Response): string | undefined =>
  decoded<{ errorReason?: string }>(response.headers.get('payment-response')).errorReason

test('the public client pays without SOL, to a token account that is missing; sent again, it pays no more', async () => {
  const opened = await open()
  const payer = await payerWith(AMOUNT * 2n)
  const { origin, password } = new URL(world.solana.url)
  let header = ''
  const recorded: typeof fetch = (input, init) => {
    const request = new Request(input, init)
    header = request.headers.get('payment-signature') ?? header
    return fetch(request)
  }
  const pay = wrapFetchWithPaymentFromConfig(recorded, {
    schemes: [{ network: DEVNET, client: new ExactSvmScheme(payer, { rpcUrl: `${origin}/${password}` }) }],
    spendControls: { allowedAssets: true, maxAmountPerPayment: '$100' },
  })
  const response = await answered(pay(opened.url))
  expect([response.status, await response.clone().json()]).toMatchObject([200, { status: 'settled' }])
  const told = decodePaymentResponseHeader(response.headers.get('payment-response') ?? '')
  expect(told).toMatchObject({ success: true, network: DEVNET, payer: payer.address })
  expect((await world.rpc.statuses([told.transaction])).get(told.transaction)).toMatchObject({
    failed: false,
  })
  // Even where the fee payer has nothing left for another: who paid still hears of it.
  for (const lack of ['lamports = 0', `read_at = now() - interval '6 minutes'`]) {
    await world.database.owner.query(`update x402_fee_payer set ${lack}`)
    const replay = await send(opened.url, header)
    expect(await replay.json()).toMatchObject({ status: 'settled', transaction: told.transaction })
    await turn()
  }
  for (let count = 0; count < 3; count++) await turn()
  expect(await stored(opened)).toEqual(SETTLED)
  expect(await received(opened)).toBe(AMOUNT)
  expect(await world.holdsTokens('USDC_SOLANA', payer.address)).toBe(AMOUNT)
  // The account's rent, three signatures, and what was bid.
  const spent = SOL - (await world.holds(feePayer))
  expect(spent).toBeGreaterThan(2_000_000n)
  expect(spent).toBeLessThan(2_300_000n)
})

const dead = async (): Promise<string> => (await generateKeyPairSigner()).address
const tips = (feePays: boolean) => async (payer: KeyPairSigner) => {
  const source = feePays ? ({ ...payer, address: feePayer as Address } as KeyPairSigner) : payer
  const tip = getTransferSolInstruction({ source, destination: payer.address, amount: 1n })
  // The fee payer's own signature is its to give.
  return feePays
    ? {
        ...tip,
        accounts: [{ address: feePayer as Address, role: AccountRole.WRITABLE_SIGNER }, tip.accounts[1]],
      }
    : tip
}
const MEMO = 'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr'
const BUDGET = 'invalid_exact_svm_payload_transaction_instructions_compute'
const HOSTILE: readonly [string, string, (payer: KeyPairSigner) => Promise<SolanaChanges>][] = [
  ['less', 'invalid_exact_svm_payload_amount_mismatch', async () => ({ amount: AMOUNT - 1n })],
  ['more', 'invalid_exact_svm_payload_amount_mismatch', async () => ({ amount: AMOUNT + 1n })],
  [
    'another recipient',
    'invalid_exact_svm_payload_recipient_mismatch',
    async () => ({ payTo: await dead() }),
  ],
  [
    'another mint',
    'invalid_exact_svm_payload_mint_mismatch',
    async () => ({ mint: sandboxMintOf('USDT_SOLANA')?.mint ?? '' }),
  ],
  [
    'terms that were never offered',
    'invalid_payment_requirements',
    async () => ({ accepted: { amount: '1' }, amount: 1n }),
  ],
  ['another fee payer', 'invalid_exact_svm_fee_payer_mismatch', async () => ({ feePayer: await dead() })],
  [
    'the fee payer among the accounts',
    'invalid_exact_svm_payload_transaction_fee_payer_transferring_funds',
    async (payer) => ({ last: [(await tips(true)(payer)) as never] }),
  ],
  [
    'one instruction more',
    'invalid_exact_svm_payload_transaction_instructions_length',
    async (payer) => ({ last: [await tips(false)(payer), await tips(false)(payer)] }),
  ],
  [
    'a transfer in the memo’s place',
    'invalid_exact_svm_payload_unknown_fourth_instruction',
    async (payer) => ({ last: [await tips(false)(payer)] }),
  ],
  [
    'a durable nonce',
    `${BUDGET}_limit_instruction`,
    async (payer) => ({
      last: [],
      first: [
        getAdvanceNonceAccountInstruction({ nonceAccount: address(await dead()), nonceAuthority: payer }),
      ],
    }),
  ],
  ['too many units', `${BUDGET}_limit_instruction_too_high`, async () => ({ units: 200_001 })],
  [
    'too high a price',
    `${BUDGET}_price_instruction_too_high`,
    async () => ({ units: 100_000, price: 1_000_001n }),
  ],
  [
    'a lookup table',
    'invalid_exact_svm_payload_transaction_could_not_be_decoded',
    async () => ({
      tables: { [await dead()]: [address(sandboxMintOf('USDC_SOLANA')?.mint ?? '')] } as never,
    }),
  ],
  [
    'an older version',
    'invalid_exact_svm_payload_transaction_could_not_be_decoded',
    async () => ({ version: 'legacy' }),
  ],
  [
    'a token account that nobody may write to',
    'invalid_exact_svm_payload_transaction',
    async () => ({ readonly: true }),
  ],
  [
    'a memo that is no text',
    'invalid_exact_svm_payload_unknown_fourth_instruction',
    async () => ({ last: [{ programAddress: address(MEMO), data: Uint8Array.of(0xff) }] }),
  ],
  ['no signature', 'invalid_exact_svm_payload_signature_invalid', async () => ({ unsigned: true })],
]

test.each(HOSTILE)(
  '%s is refused in the scheme’s words, and nothing is kept or spent',
  async (_, reason, changes) => {
    const opened = await open()
    const payer = await generateKeyPairSigner()
    const response = await send(opened.url, await sign(payer, opened, await changes(payer)))
    expect([response.status, reasonOf(response)]).toEqual([402, reason])
    await turn()
    expect(await stored(opened)).toEqual([])
    expect(await world.holds(feePayer)).toBe(SOL)
  },
)

test('of twenty payers at once one is accepted, and the same payment twenty times moves money once', async () => {
  const [opened, same] = [await open(), await open()]
  const payers: KeyPairSigner[] = []
  for (let count = 0; count < 20; count++) payers.push(await payerWith(AMOUNT))
  const headers = await Promise.all(payers.map((payer) => sign(payer, opened)))
  const again = await sign(await payerWith(AMOUNT * 3n), same)
  const asked = [...headers.map((header) => send(opened.url, header))]
  const repeated = payers.map(() => send(same.url, again))
  const responses = await answered(Promise.all(asked))
  expect(responses.map(({ status }) => status).sort()).toEqual([200, ...Array(19).fill(409)])
  const bodies = await answered(Promise.all(repeated.map(async (each) => (await each).text())))
  expect(new Set(bodies).size).toBe(1)
  for (const each of [opened, same]) {
    expect(await stored(each)).toEqual(SETTLED)
    expect(await received(each)).toBe(AMOUNT)
  }
})

test('who lacks the money costs nothing, and another may pay the invoice', async () => {
  const opened = await open()
  const poor = await answered(send(opened.url, await sign(await payerWith(AMOUNT - 1n), opened)))
  expect([poor.status, reasonOf(poor)]).toEqual([402, 'insufficient_funds'])
  expect(await stored(opened)).toMatchObject([{ status: 'refused', transactions: 0 }])
  expect(await world.holds(feePayer)).toBe(SOL)
  const paid = await answered(send(opened.url, await sign(await payerWith(AMOUNT), opened)))
  expect(paid.status).toBe(200)
  expect(await received(opened)).toBe(AMOUNT)
})

test('a payment whose money is gone has failed once no block can have it, and not before', async () => {
  const opened = await open()
  const payer = await payerWith(AMOUNT)
  const asked = send(opened.url, await sign(payer, opened))
  await isStored(opened)
  world.now = new Date()
  await world.tracker().pass()
  await signX402(await world.signer())
  // Before it is sent, its payer takes the money away.
  const { payer: bank } = world.solana
  const mint = sandboxMintOf('USDC_SOLANA')
  if (mint === null) throw new Error('there is no mint')
  const [create] = await bank.tokens('USDC_SOLANA', bank.signer.address, 1n)
  const take = getTransferCheckedInstruction({
    source: address(associatedTokenAccount(payer.address, mint)),
    mint: address(mint.mint),
    destination: address(associatedTokenAccount(bank.signer.address, mint)),
    authority: payer,
    amount: AMOUNT,
    decimals: 6,
  })
  await bank.send([...(create === undefined ? [] : [create]), take])
  await world.solana.mine(1)
  for (let count = 0; count < 3; count++) await turn()
  expect(await stored(opened)).toEqual([{ status: 'checked', reason: null, transactions: 1 }])
  await world.solana.mine(290)
  await turn()
  expect(await stored(opened)).toMatchObject([{ status: 'checked' }])
  await world.solana.mine(20)
  const response = await answered(asked)
  expect([response.status, reasonOf(response)]).toEqual([402, 'invalid_exact_svm_transaction_failed'])
  expect(await received(opened)).toBe(0n)
  expect((await fetch(opened.url)).status).toBe(402)
})

test('a block hash that is too old is refused before anything is signed', async () => {
  const opened = await open()
  const header = await sign(await payerWith(AMOUNT), opened)
  await world.solana.mine(160)
  const asked = send(opened.url, header)
  await isStored(opened)
  await world.database.owner.query(`update x402_authorization set created_at = now() - interval '1 minute'`)
  const response = await answered(asked)
  expect([response.status, reasonOf(response)]).toEqual([
    402,
    'invalid_exact_svm_transaction_simulation_failed',
  ])
  expect(await stored(opened)).toMatchObject([{ status: 'refused', transactions: 0 }])
  expect(await world.holds(feePayer)).toBe(SOL)
})

const POINTS: readonly SigningPoint[] = ['before_journal', 'after_journal', 'after_commit']
test.each(POINTS)('a signer that dies %s goes on and the money moves once', async (point) => {
  const opened = await open()
  const asked = send(opened.url, await sign(await payerWith(AMOUNT * 2n), opened))
  await isStored(opened)
  await world.tracker().pass()
  const dies = async (reached: SigningPoint) => {
    if (reached === point) throw new Error('died')
  }
  await expect(signX402(await world.signer({ reached: dies }))).rejects.toThrow('died')
  expect((await answered(asked)).status).toBe(200)
  expect(await stored(opened)).toEqual(SETTLED)
  expect(await received(opened)).toBe(AMOUNT)
})

test.each([
  ['amount', 'value = value + 1'],
  ['recipient', `recipient = sha256('somebody'), key_index = 7`],
  ['index', 'key_index = key_index + 1'],
  ['message', `message = set_byte(message, 100, 255 - get_byte(message, 100))`],
  ['signature', `signature = sha512('somebody')`],
  ['payer', `payer = sha256('somebody')`],
])('a payment whose %s was changed behind the signer’s back is not signed', async (_, change) => {
  const opened = await open()
  const asked = send(opened.url, await sign(await payerWith(AMOUNT), opened))
  await isStored(opened)
  await world.tracker().pass()
  expect(await stored(opened)).toMatchObject([{ status: 'checked' }])
  await world.database.owner.query(`update x402_authorization set ${change} where invoice_id = $1`, [
    opened.invoice.id,
  ])
  await signX402(await world.signer())
  expect(await stored(opened)).toMatchObject([{ transactions: 0 }])
  expect(world.logged.join('')).toContain('pays nobody here')
  await world.database.owner.query(
    `update x402_authorization set status = 'refused', reason = 'gone', done_at = now() where invoice_id = $1`,
    [opened.invoice.id],
  )
  expect((await asked).status).toBe(402)
  expect(await world.holds(feePayer)).toBe(SOL)
})

test('nothing is signed for x402 under the name of a payout, which would be signed no more', async () => {
  const opened = await open()
  const asked = send(opened.url, await sign(await payerWith(AMOUNT), opened))
  await isStored(opened)
  await world.tracker().pass()
  const payoutId = newId('payout', new Date())
  const { rows } = await world.database.owner.query<{ id: string }>(
    'update x402_authorization set id = $2 where invoice_id = $1 returning status',
    [opened.invoice.id, payoutId],
  )
  expect(rows).toEqual([{ status: 'checked' }])
  await signX402(await world.signer())
  expect(await stored(opened)).toMatchObject([{ status: 'checked', transactions: 0 }])
  await world.database.owner.query(
    `update x402_authorization set status = 'refused', reason = 'gone', done_at = now() where id = $1`,
    [payoutId],
  )
  expect((await asked).status).toBe(503)
})

test('a block that is not confirmed may leave the chain: no payer hears that it has paid', async () => {
  const opened = await open()
  const asked = send(opened.url, await sign(await payerWith(AMOUNT), opened))
  await isStored(opened)
  class AheadOfVotes extends SolanaRpc {
    override async statuses(signatures: readonly string[]) {
      const found = await super.statuses(signatures)
      return new Map(
        [...found].map(([txid, each]) => [txid, { ...each, isConfirmed: false, isFinal: false }]),
      )
    }
  }
  const ahead = new AheadOfVotes(world.solana.url, 'the test')
  for (let count = 0; count < 5; count++) {
    world.now = new Date()
    await world.tracker(world.broadcaster(ahead)).pass()
    await signX402(await world.signer())
    await world.solana.mine(1)
  }
  expect(await received(opened)).toBe(AMOUNT)
  expect(await stored(opened)).toEqual([{ status: 'checked', reason: null, transactions: 1 }])
  await ahead.close()
  expect((await answered(asked)).status).toBe(200)
})

test.each([2n ** 63n - 1n, -1n])('a height that no journal holds, %s, stops no signer', async (height) => {
  const [forged, other] = [await open(), await open()]
  const heldUp = send(forged.url, await sign(await payerWith(AMOUNT), forged))
  await isStored(forged)
  await world.tracker().pass()
  await world.database.owner.query(
    'update x402_authorization set last_valid_height = $2 where invoice_id = $1',
    [forged.invoice.id, height],
  )
  await signX402(await world.signer())
  expect(await stored(forged)).toMatchObject([{ status: 'checked', transactions: 0 }])
  expect((await answered(send(other.url, await sign(await payerWith(AMOUNT), other)))).status).toBe(200)
  await world.database.owner.query(
    'update x402_authorization set last_valid_height = 1 where invoice_id = $1',
    [forged.invoice.id],
  )
  expect((await answered(heldUp)).status).toBe(402)
})

test('nothing is offered while the fee payer lacks SOL, was not read lately, or costs more than is paid', async () => {
  const { url } = await open()
  expect((await fetch(url)).status).toBe(402)
  const set = (what: string) => world.database.owner.query(`update x402_fee_payer set ${what}`)
  for (const lack of ['lamports = 4000000', `read_at = now() - interval '6 minutes'`]) {
    await set(lack)
    expect((await fetch(url)).status).toBe(503)
    await turn()
    expect((await fetch(url)).status).toBe(402)
  }
  const price = (asset: 'SOL' | 'USDC_SOLANA', usd: bigint) => ({
    ...{ livemode: false, asset, price: usd * 10n ** 12n },
  })
  await saveAssetPrices(world.database.owner, [price('SOL', 20_000n), price('USDC_SOLANA', 1n)], world.now)
  expect((await fetch(url)).status).toBe(503)
  const later = new Date(world.now.getTime() + 60_000)
  await saveAssetPrices(world.database.owner, [price('SOL', 200n)], later)
  expect((await fetch(url)).status).toBe(402)
})
