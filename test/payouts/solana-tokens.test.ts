import { appendFile, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { AccountRole, address, generateKeyPairSigner } from '@solana/kit'
import { getTransferSolInstruction, SYSTEM_PROGRAM_ADDRESS } from '@solana-program/system'
import { getCloseAccountInstruction, getTransferCheckedInstruction } from '@solana-program/token'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { associatedTokenAccount } from '../../src/chain/solana/token-accounts.ts'
import type { AssetId } from '../../src/core/assets.ts'
import type { SolanaMint } from '../../src/core/chain/solana-mints.ts'
import type { Payout } from '../../src/core/payout/payout.ts'
import {
  TOKEN_ACCOUNT_UNIT_LIMIT,
  tokenAccountRent,
  tokenFee,
  UNIT_PRICE_MAX,
} from '../../src/core/payout/solana-fee.ts'
import { openSignerAccounts, signWithBlockhash } from '../../src/payouts/sign/solana/solana-accounts.ts'
import { acceptLostPayout } from '../../src/payouts/store/lost-payouts.ts'
import type { Tenant } from '../../src/postgres/transaction.ts'
import { newId } from '../../src/runtime/new-id.ts'
import { sandboxMintOf } from '../../src/sandbox/solana/sandbox-mints.ts'
import { SolanaIssuer } from '../support/solana-issuer.ts'
import { SolanaPayoutWorld } from '../support/solana-payout-world.ts'

const USDC = 'USDC_SOLANA'
const PYUSD = 'PYUSD_SOLANA'
const USD = 1_000_000n
const DAY_MS = 24 * 3_600_000
const HALF_HOUR_MS = 31 * 60_000

let world: SolanaPayoutWorld
let issuer: SolanaIssuer
beforeAll(async () => {
  world = await SolanaPayoutWorld.open()
  issuer = new SolanaIssuer(world.solana.url)
  await world.fund()
})
afterAll(() => world?.close())

const openShop = (asset: AssetId, ...dollars: readonly number[]): Promise<Tenant> =>
  world.openShop(
    dollars.map((amount) => BigInt(amount * 1_000_000)),
    0,
    asset,
  )
const pay = (tenant: Tenant, asset: AssetId, amount: string, to?: string): Promise<Payout> =>
  world.payout(tenant, amount, to, asset)

async function payAgain(tenant: Tenant, { destinationId }: Payout, amount: string): Promise<Payout> {
  const requested = await world.askTo(tenant, destinationId, amount)
  if (requested.kind !== 'requested') throw new Error(requested.kind)
  await world.approve(tenant, requested.payout.id)
  return requested.payout
}

async function expectPaid(tenant: Tenant, payout: Payout): Promise<void> {
  const { networkFee } = await world.until(tenant, payout.id, 'confirmed')
  expect(networkFee).toBe(0n)
  expect(await world.holdsTokens(payout.asset, payout.destination)).toBe(payout.amount)
  expect(await world.eventsOf(payout.id)).toEqual(['requested', 'approved', 'submitted', 'confirmed'])
}

async function expectFailed(tenant: Tenant, { id }: Payout, failureCode: string): Promise<void> {
  expect(await world.until(tenant, id, 'failed')).toMatchObject({ failureCode })
}

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await world.turn()
}

function mintOf(asset: AssetId): SolanaMint {
  const mint = sandboxMintOf(asset)
  if (mint === null) throw new Error(`${asset} has no mint`)
  return mint
}

const later = (ms: number): void => {
  world.now = new Date(world.now.getTime() + ms)
}

/** Turns until it is signed, without its being sent. */
async function untilSigned({ id }: Payout): Promise<void> {
  for (let turn = 0; turn < 20 && (await world.signedOf(id)).length === 0; turn++) {
    await world.tracker().pass()
    await world.sign()
    await world.solana.mine(1)
  }
  expect(await world.signedOf(id)).toHaveLength(1)
}

const balanceOf = async (tenant: Tenant, asset: AssetId): Promise<unknown> => {
  const { rows } = await world.database.owner.query<{ account: string; balance: bigint }>(
    `select account, balance from ledger_balance where merchant_id = $1 and asset = $2 and balance <> 0`,
    [tenant.merchantId, asset],
  )
  return Object.fromEntries(rows.map(({ account, balance }) => [account, balance]))
}

const logged = () => world.logged.join('')

test.each([USDC, 'USDT_SOLANA', PYUSD] as const)(
  '%s is swept into the vault, five addresses at once, and paid whole; the fee payer alone pays for it',
  async (asset) => {
    const tenant = await openShop(asset, 30, 20, 5, 1, 1, 1, 1)
    const { vault, feePayer, reading } = await world.signerAccounts()
    const [had, nonceRent] = [await world.holds(feePayer), reading?.nonceRentExempt ?? 0n]
    const payout = await pay(tenant, asset, '58.5')
    await expectPaid(tenant, payout)
    expect(await world.holdsTokens(asset, vault)).toBe(USD / 2n)
    const again = await payAgain(tenant, payout, '0.5')
    await world.until(tenant, again.id, 'confirmed')
    expect(await world.holdsTokens(asset, payout.destination)).toBe(59n * USD)
    expect(await world.holdsTokens(asset, vault)).toBe(0n)
    expect(await balanceOf(tenant, asset)).toEqual({})
    const { rows } = await world.database.owner.query(
      `select cardinality(indexes) as taken from solana_token_sweep where asset = $1 and landed order by taken`,
      [asset],
    )
    expect(rows).toEqual([{ taken: 2 }, { taken: 5 }])
    // Two accounts, of vault and payee; the first of these also makes the nonces.
    const rent = tokenAccountRent(reading?.rentExempt ?? 0n)
    expect(had - (await world.holds(feePayer))).toBeLessThan(2n * rent + 5n * nonceRent)
    expect(await world.audited()).toEqual([])
  },
)

test('a forged price of a compute unit costs the fee payer no more than is believed', async () => {
  const tenant = await openShop(USDC, 9)
  const first = await pay(tenant, USDC, '8')
  for (let turn = 0; turn < 9; turn++) {
    await world.tracker().pass()
    await world.database.owner.query('update solana_house set unit_price = 900000000000')
    await world.sign()
    await world.solana.mine(1)
  }
  await expectPaid(tenant, first)
  const { txid } = await world.load(tenant, first.id)
  const { meta } = (await world.solana.payer.client
    .getTransaction(txid as never, {
      commitment: 'confirmed',
      encoding: 'json',
      maxSupportedTransactionVersion: 0,
    })
    .send()) ?? { meta: null }
  expect(BigInt(meta?.fee ?? 0)).toBeLessThanOrEqual(tokenFee(TOKEN_ACCOUNT_UNIT_LIMIT, UNIT_PRICE_MAX))
})

test('a frozen deposit is shown, holds up no other and is swept once its issuer lets go of it', async () => {
  const tenant = await openShop(USDC, 4)
  const frozen = await world.deposit(tenant, 9n * USD, { asset: USDC })
  await issuer.freeze(USDC, frozen)
  await world.solana.mine(1)
  const other = await openShop(USDC, 3)
  const [all, theirs] = [await pay(tenant, USDC, '13'), await pay(other, USDC, '3')]
  await expectPaid(other, theirs)
  await expectFailed(tenant, all, 'deposit_frozen')
  expect(logged()).toContain('a deposit cannot be swept: its issuer has frozen it')
  const frozenOf = async () =>
    (await world.database.owner.query('select amount, reason from frozen_deposit')).rows
  expect(await frozenOf()).toEqual([{ amount: 9n * USD, reason: 'account frozen' }])
  // All that is left beside.
  const requested = await world.ask(tenant, { asset: USDC, amount: null, address: world.newAddress() })
  if (requested.kind !== 'requested') throw new Error(requested.kind)
  expect(requested.payout.amount).toBe(4n * USD)
  await world.approve(tenant, requested.payout.id)
  await expectPaid(tenant, requested.payout)
  await issuer.thaw(USDC, frozen)
  await world.solana.mine(1)
  later(HALF_HOUR_MS)
  await turns(2)
  expect(await frozenOf()).toEqual([])
  await expectPaid(tenant, await pay(tenant, USDC, '9'))
})

test("what the mint's delegate took from an address is an alarm; its payout comes back after a day", async () => {
  const tenant = await world.openShop([], 0, PYUSD)
  const robbed = await world.deposit(tenant, 6n * USD, { asset: PYUSD })
  const thief = await openShop(PYUSD, 2)
  const paid = await pay(thief, PYUSD, '2')
  await expectPaid(thief, paid)
  await issuer.seize(PYUSD, robbed, 5n * USD, paid.destination)
  await world.solana.mine(1)
  const payout = await pay(tenant, PYUSD, '6')
  await turns(4)
  expect((await world.load(tenant, payout.id)).status).toBe('approved')
  expect(logged()).toContain('a deposit address holds less than was paid to it')
  expect(await world.audited()).toEqual([
    `solana-test PYUSD_SOLANA ${robbed}: holds ${USD} and ${6n * USD} stand in the books`,
  ])
  later(DAY_MS + 1)
  await expectFailed(tenant, payout, 'insufficient_funds')
  expect(await balanceOf(tenant, PYUSD)).toMatchObject({ available: 6n * USD })
  await world.database.owner.query(`update transfer set left_on_chain = now() where merchant_id = $1`, [
    tenant.merchantId,
  ])
})

test('while an issuer takes a fee, or runs a program with each transfer, nothing of its token is promised', async () => {
  const { feePayer } = await world.signerAccounts()
  const tenant = await openShop(PYUSD, 7)
  const usdc = await openShop(USDC, 2)
  const stopped = await pay(tenant, PYUSD, '3')
  await issuer.setFee(PYUSD, 10)
  await world.solana.mine(1)
  await expectPaid(usdc, await pay(usdc, USDC, '2'))
  await expectFailed(tenant, stopped, 'token_refuses')
  const ask = () => world.ask(tenant, { asset: PYUSD, amount: '3', address: world.newAddress() })
  expect(await ask()).toEqual({ kind: 'unavailable' })
  await issuer.setFee(PYUSD, 0)
  await issuer.setHook(PYUSD, feePayer)
  await world.solana.mine(1)
  later(2 * 60_000)
  await turns(1)
  expect(await ask()).toEqual({ kind: 'unavailable' })
  await issuer.setHook(PYUSD, null)
  await world.solana.mine(1)
  later(2 * 60_000)
  await turns(1)
  await expectPaid(tenant, await pay(tenant, PYUSD, '7'))
})

test('tokens go to wallets: to no token account, mint, program or account of ours, nor where none is open', async () => {
  const tenant = await openShop(USDC, 10)
  const { vault, feePayer } = await world.signerAccounts()
  const held = await openShop(USDC, 1)
  const paid = await pay(held, USDC, '1')
  await expectPaid(held, paid)
  const frozen = paid.destination
  await issuer.freeze(USDC, frozen)
  await world.solana.mine(1)
  const mint = mintOf(USDC)
  const refused = {
    [associatedTokenAccount(paid.destination, mint)]: 'destination_refuses',
    [associatedTokenAccount(world.newAddress(), mint)]: 'destination_refuses',
    [mint.mint]: 'destination_refuses',
    [mint.program]: 'destination_refuses',
    [frozen]: 'destination_refuses',
    [associatedTokenAccount(vault, mint)]: 'destination_refuses',
    [vault]: 'destination_invalid',
    [feePayer]: 'destination_invalid',
  }
  for (const [to, code] of Object.entries(refused)) {
    const payout = await pay(tenant, USDC, '2', to)
    await expectFailed(tenant, payout, code)
    expect(await world.signedOf(payout.id)).toEqual([])
  }
  expect(await balanceOf(tenant, USDC)).toMatchObject({ available: 10n * USD })
  // A multisig's wallet: no key has its address, and it is there.
  const shared = associatedTokenAccount(world.newAddress(), mintOf(PYUSD))
  await world.pay('SOL', shared, 10_000_000n)
  await world.solana.mine(1)
  await expectPaid(tenant, await pay(tenant, USDC, '2', shared))
})

test('a payee whose account wants a memo with each transfer is refused before anything is signed', async () => {
  const { payer } = world.solana
  const tenant = await openShop(PYUSD, 3)
  const payee = await generateKeyPairSigner()
  await world.pay(PYUSD, payee.address, USD)
  await world.solana.mine(1)
  const { program } = mintOf(PYUSD)
  const account = {
    address: address(associatedTokenAccount(payee.address, mintOf(PYUSD))),
    role: AccountRole.WRITABLE,
  }
  const pays = { address: payer.signer.address, role: AccountRole.WRITABLE_SIGNER, signer: payer.signer }
  const owns = { address: payee.address, role: AccountRole.READONLY_SIGNER, signer: payee }
  const system = { address: SYSTEM_PROGRAM_ADDRESS, role: AccountRole.READONLY }
  const programAddress = address(program)
  // Room for the extension (8), and that it is on.
  await payer.send([
    { programAddress, accounts: [account, pays, system, owns], data: Uint8Array.of(29, 8, 0) },
    { programAddress, accounts: [account, owns], data: Uint8Array.of(30, 0) },
  ])
  await world.solana.mine(1)
  const payout = await pay(tenant, PYUSD, '2', payee.address)
  await expectFailed(tenant, payout, 'destination_refuses')
  expect(await world.signedOf(payout.id)).toEqual([])
  await expectPaid(tenant, await pay(tenant, PYUSD, '3'))
})

test('what is frozen after it was signed fails for good, frees its nonce and gives the money back', async () => {
  const tenant = await openShop(USDC, 5)
  const first = await pay(tenant, USDC, '1')
  await expectPaid(tenant, first)
  const payout = await payAgain(tenant, first, '4')
  await untilSigned(payout)
  await issuer.freeze(USDC, first.destination)
  await world.solana.mine(1)
  await world.tracker().pass()
  expect((await world.load(tenant, payout.id)).status).toBe('approved')
  later(HALF_HOUR_MS)
  await expectFailed(tenant, payout, 'failed_on_chain')
  expect(await world.eventsOf(payout.id)).toEqual(['requested', 'approved', 'failed'])
  expect(await balanceOf(tenant, USDC)).toMatchObject({ available: 4n * USD })
  await expectPaid(tenant, await pay(tenant, USDC, '4'))
})

test('payees who close their accounts meanwhile hold up nobody else, and are not paid', async () => {
  const { payer } = world.solana
  const thief = await openShop(USDC, 10)
  await expectPaid(thief, await pay(thief, USDC, '1'))
  const mint = address(mintOf(USDC).mint)
  const accountOf = (owner: string) => address(associatedTokenAccount(owner, mintOf(USDC)))
  const payees = await Promise.all(Array.from({ length: 4 }, () => generateKeyPairSigner()))
  for (const payee of payees) await world.pay(USDC, payee.address, USD)
  await payer.send(await payer.tokens(USDC, payer.signer.address, 0n))
  await world.solana.mine(1)
  const payouts: Payout[] = []
  for (const payee of payees) payouts.push(await pay(thief, USDC, '1', payee.address))
  // What the destinations are is known now.
  await world.tracker().pass()
  for (const payee of payees) {
    const [account, destination] = [accountOf(payee.address), accountOf(payer.signer.address)]
    const away = { source: account, mint, destination, authority: payee, amount: USD, decimals: 6 }
    const closing = { account, destination: payer.signer.address, owner: payee }
    await payer.send([getTransferCheckedInstruction(away), getCloseAccountInstruction(closing)])
  }
  await world.solana.mine(1)
  const signedOnes = async () => (await Promise.all(payouts.map(({ id }) => world.signedOf(id)))).flat()
  for (let turn = 0; turn < 9 && (await signedOnes()).length < payouts.length; turn++) await world.turn()
  expect(await signedOnes()).toHaveLength(4)
  const other = await openShop(USDC, 2)
  const theirs = await pay(other, USDC, '2')
  later(2 * 60_000)
  await expectPaid(other, theirs)
  for (const payout of payouts) await expectFailed(thief, payout, 'failed_on_chain')
  expect(await balanceOf(thief, USDC)).toMatchObject({ available: 9n * USD })
  expect(await world.audited()).toEqual([])
})

test('a fee payer without SOL lets payouts of tokens wait, and says so; then they are paid', async () => {
  const { feePayer, reading } = await world.signerAccounts()
  const tenant = await openShop(USDC, 5)
  const keys = await openSignerAccounts(world.accounts.solana, 'solana-test')
  const spent = (await world.holds(feePayer)) - 2n * (reading?.rentExempt ?? 0n)
  const destination = world.solana.payer.signer.address
  const move = getTransferSolInstruction({ source: keys.feePayer, destination, amount: spent })
  const latest = await world.rpc.latestBlockhash()
  const { raw } = await signWithBlockhash(keys.feePayer, [move], latest)
  await world.rpc.sendTransaction(raw)
  await world.solana.mine(1)
  const payout = await pay(tenant, USDC, '5')
  await turns(6)
  expect((await world.load(tenant, payout.id)).status).toBe('approved')
  expect(logged()).toContain('the fee payer has too little SOL for a payout of tokens')
  expect(logged()).toContain('the fee payer of payouts on Solana runs low')
  await world.fund()
  await expectPaid(tenant, payout)
})

test('deposits worth less than their sweep wait, and a payout that needs them comes back after a day', async () => {
  const { owner } = world.database
  const priceOf = async (asset: AssetId, cents: bigint) =>
    owner.query(
      `insert into asset_price (asset, livemode, price, updated_at) values ($1, false, $2, now())
       on conflict (asset, livemode) do update set price = excluded.price`,
      [asset, cents],
    )
  const tenant = await openShop(USDC, 2, 0.5)
  await priceOf(USDC, 100n)
  // An address costs half a dollar.
  await priceOf('SOL', 100n * 60_000n)
  const { vault } = await world.signerAccounts()
  const before = await world.holdsTokens(USDC, vault)
  const payout = await pay(tenant, USDC, '2.5')
  await turns(4)
  expect((await world.holdsTokens(USDC, vault)) - before).toBe(2n * USD)
  later(DAY_MS + 1)
  await expectFailed(tenant, payout, 'fee_above_limit')
  await priceOf('SOL', 100n * 200n)
  await expectPaid(tenant, await pay(tenant, USDC, '2.5'))
})

test("a merchant's payouts create so many accounts a day at the fee payer's cost, and no more", async () => {
  const tenant = await openShop(USDC, 30)
  const first = await pay(tenant, USDC, '1')
  await expectPaid(tenant, first)
  // As if 23 more had been signed: the journal says so, and an operator that the books know of them.
  const path = join(world.folder, 'payouts.jsonl')
  const lines = (await readFile(path, 'utf8')).split('\n')
  const signed = JSON.parse(lines.find((line) => line.includes(`"payout_id":"${first.id}"`)) ?? '{}')
  for (let count = 0; count < 23; count++) {
    const id = newId('payout', world.now)
    await acceptLostPayout(world.database.owner, { id, network: 'solana-test' }, world.now)
    const intent = { ...signed.intent, amount: '0' }
    await appendFile(path, `${JSON.stringify({ ...signed, payout_id: id, intent, at: undefined })}\n`)
  }
  await expectPaid(tenant, await pay(tenant, USDC, '1'))
  const more = await pay(tenant, USDC, '1')
  await turns(2)
  expect(await world.signedOf(more.id)).toEqual([])
  expect(logged()).toContain('as many token accounts were created for the merchant')
  // What creates none goes on.
  const again = await payAgain(tenant, first, '1')
  await world.until(tenant, again.id, 'confirmed')
  later(DAY_MS)
  await expectPaid(tenant, more)
})

test('the auditor finds where vault and addresses hold less of a token than the books say', async () => {
  const tenant = await openShop(USDC, 8)
  const payout = await pay(tenant, USDC, '3')
  await expectPaid(tenant, payout)
  const unswept = await world.deposit(tenant, 2n * USD, { asset: USDC })
  const { vault } = await world.signerAccounts()
  const held = await world.holdsTokens(USDC, vault)
  const { owner } = world.database
  const change = async (sql: string) => expect((await owner.query(sql, [tenant.merchantId])).rowCount).toBe(1)
  const sweep = (what: string) =>
    change(`update solana_token_sweep set ${what} where indexes && (
      select array_agg(idx) from deposit_address where merchant_id = $1)`)
  expect(await world.audited()).toEqual([])
  await change(`update transfer set amount = amount + 1 where merchant_id = $1 and amount = ${2n * USD}`)
  expect(await world.audited()).toEqual([
    `solana-test ${USDC} ${unswept}: holds ${2n * USD} and ${2n * USD + 1n} stand in the books`,
  ])
  await change(`update transfer set amount = amount - 1 where merchant_id = $1 and amount = ${2n * USD + 1n}`)
  await sweep('amounts = array[amounts[1] + 1]')
  expect(await world.audited()).toEqual([
    `solana-test ${USDC} ${vault}: holds ${held} and ${held + 1n} stand in the books`,
  ])
  await sweep('amounts = array[amounts[1] - 1], landed = false')
  expect(await world.audited()).toContainEqual(
    `${USDC} on solana-test: swept 0, signed payouts ${payout.amount}`,
  )
  await sweep('landed = true')
  expect(await world.audited()).toEqual([])
})

test('tokens whose payout and sweep a restored database forgot are found again, and paid once', async () => {
  const tenant = await openShop(PYUSD, 9)
  const restore = await world.backUp()
  const payout = await pay(tenant, PYUSD, '5')
  await expectPaid(tenant, payout)
  await restore()
  const again = await pay(tenant, PYUSD, '4')
  await turns(4)
  expect(await world.signedOf(again.id)).toEqual([])
  expect(await world.recover()).toEqual({ [payout.id]: 'recovered' })
  await expectPaid(tenant, again)
  await expectPaid(tenant, payout)
  expect(await world.audited()).toEqual([])
})
