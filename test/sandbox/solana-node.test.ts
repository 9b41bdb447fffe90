import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  type Address,
  generateKeyPairSigner,
  getBase64EncodedWireTransaction,
  isSolanaError,
  SOLANA_ERROR__JSON_RPC__SERVER_ERROR_SEND_TRANSACTION_PREFLIGHT_FAILURE,
} from '@solana/kit'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { systemClock } from '../../src/runtime/clock.ts'
import { createLogger } from '../../src/runtime/log.ts'
import { sandboxMintOf } from '../../src/sandbox/solana/sandbox-mints.ts'
import { startSolanaChain } from '../../src/sandbox/solana/start-solana-chain.ts'
import { temporaryFolder } from '../support/sandbox-state.ts'
import { lever, SolanaPayer, stockClient } from '../support/solana-payer.ts'

const AMOUNT = 250_000_000n

let folder: Awaited<ReturnType<typeof temporaryFolder>>
let sandbox: Awaited<ReturnType<typeof startSolanaChain>>
const open = () =>
  startSolanaChain({
    dataDir: folder.path,
    clock: systemClock,
    log: createLogger('silent'),
    lag: { confirmed: 1, finalized: 3 },
    slotMs: 0,
    skipEvery: 0,
  })

beforeEach(async () => {
  folder = await temporaryFolder()
  sandbox = await open()
})
afterEach(async () => {
  await sandbox.stop()
  await folder.remove()
})

const newOwner = async () => (await generateKeyPairSigner()).address

test('the stock client pays by legacy, versioned and looked-up transactions, and by a durable nonce', async () => {
  const payer = await SolanaPayer.fund(sandbox.rpcUrl)
  const [a, b, c, d] = await Promise.all([newOwner(), newOwner(), newOwner(), newOwner()])
  const tables = await payer.makeTable([b])
  const account = await payer.makeNonce()
  const value = await payer.nonceValue(account)
  await payer.send([payer.transfer(a, AMOUNT)], { version: 'legacy' })
  await payer.send([payer.transfer(b, AMOUNT)], { tables })
  await payer.send([payer.transfer(d, AMOUNT)], { version: 1 })
  // A blockhash would be too old by now.
  const signed = await payer.sign([payer.transfer(c, AMOUNT)], { nonce: { account, value } })
  await payer.mine(200)
  await payer.client.sendTransaction(getBase64EncodedWireTransaction(signed), { encoding: 'base64' }).send()
  await payer.mine(4)
  for (const owner of [a, b, c, d]) {
    expect((await payer.client.getBalance(owner).send()).value).toBe(AMOUNT)
  }
  const [found] = await payer.client.getSignaturesForAddress(b).send()
  const read = await payer.client
    .getTransaction(found?.signature as never, { maxSupportedTransactionVersion: 0, encoding: 'json' })
    .send()
  expect(read?.meta?.loadedAddresses).toEqual({ writable: [b], readonly: [] })
  expect(await payer.nonceValue(account)).not.toBe(value)
})

test('a transaction that would fail is refused at preflight with its error', async () => {
  const payer = await SolanaPayer.fund(sandbox.rpcUrl, 10_000_000n)
  const to = await newOwner()
  const refusal = await payer.pay(to, AMOUNT).catch((error: unknown) => error)
  expect(
    isSolanaError(refusal, SOLANA_ERROR__JSON_RPC__SERVER_ERROR_SEND_TRANSACTION_PREFLIGHT_FAILURE),
  ).toBe(true)
  expect(await lever(sandbox.rpcUrl, 'getSignatureStatuses', [[]])).toMatchObject({ value: [] })
  const body = await rawError('sendTransaction', [await wireOf(payer, to), { encoding: 'base64' }])
  expect(body).toMatchObject({ code: -32_002, data: { err: { InstructionError: [0, { Custom: 1 }] } } })
  // Below the rent-exempt minimum a new account may not be left.
  const dust = await payer.pay(to, 5_000n).catch((error: unknown) => error)
  expect(String((dust as { cause?: unknown }).cause ?? dust)).toMatch(/rent/i)
})

async function wireOf(payer: SolanaPayer, to: Address): Promise<string> {
  return getBase64EncodedWireTransaction(await payer.sign([payer.transfer(to, AMOUNT)]))
}

async function rawError(method: string, params: unknown[]): Promise<unknown> {
  const url = new URL(sandbox.rpcUrl)
  const response = await fetch(`http://${url.host}`, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from(`${url.username}:${url.password}`).toString('base64')}` },
    body: JSON.stringify([{ jsonrpc: '2.0', id: 7, method, params }]),
  })
  const [answer] = (await response.json()) as [{ id: number; error?: unknown }]
  expect(answer.id).toBe(7)
  return answer.error
}

test('more than 1,232 bytes, an old blockhash and a repeated transaction are refused', async () => {
  const payer = await SolanaPayer.fund(sandbox.rpcUrl)
  const to = await newOwner()
  expect(
    await rawError('sendTransaction', [Buffer.alloc(1_233, 1).toString('base64'), { encoding: 'base64' }]),
  ).toMatchObject({
    code: -32_602,
  })
  const wire = await wireOf(payer, to)
  expect(await rawError('sendTransaction', [wire, { encoding: 'base64' }])).toBeUndefined()
  await payer.mine(1)
  expect(await rawError('sendTransaction', [wire, { encoding: 'base64' }])).toMatchObject({
    data: { err: 'AlreadyProcessed' },
  })
  const old = await wireOf(payer, await newOwner())
  await payer.mine(151)
  expect(await rawError('sendTransaction', [old, { encoding: 'base64' }])).toMatchObject({
    data: { err: 'BlockhashNotFound' },
  })
})

test('commitments lag behind the newest block, and skipped slots have no block', async () => {
  const client = stockClient(sandbox.rpcUrl)
  await lever(sandbox.rpcUrl, 'sandbox_mine', [5])
  const head = await client.getSlot({ commitment: 'processed' }).send()
  expect(await client.getSlot({ commitment: 'confirmed' }).send()).toBe(head - 1n)
  expect(await client.getSlot({ commitment: 'finalized' }).send()).toBe(head - 3n)
  await lever(sandbox.rpcUrl, 'sandbox_mine', [4, 3])
  const blocks = await client.getBlocks(head, head + 6n, { commitment: 'confirmed' }).send()
  expect(blocks).toEqual([head, head + 4n, head + 5n, head + 6n])
  const options = { commitment: 'confirmed', transactionDetails: 'none' } as const
  expect(await client.getBlock(head + 4n, options).send()).toMatchObject({ parentSlot: head })
  expect(await rawError('getBlock', [Number(head) + 2, { commitment: 'confirmed' }])).toMatchObject({
    code: -32_007,
  })
  expect(await rawError('getBlock', [Number(head) + 99, { commitment: 'confirmed' }])).toMatchObject({
    code: -32_004,
  })
})

test('a fork takes a payment off the chain until it is released, and all of it survives a restart', async () => {
  const payer = await SolanaPayer.fund(sandbox.rpcUrl)
  const [kept, moved] = await Promise.all([newOwner(), newOwner()])
  await payer.pay(kept, AMOUNT)
  const signature = await payer.pay(moved, AMOUNT)
  await payer.mine(2)
  const balanceOf = async (owner: typeof kept) =>
    (await payer.client.getBalance(owner, { commitment: 'processed' }).send()).value
  const before = await payer.client
    .getBlock(await payer.client.getSlot({ commitment: 'confirmed' }).send(), {
      commitment: 'confirmed',
      transactionDetails: 'none',
    })
    .send()
  await lever(sandbox.rpcUrl, 'sandbox_reorganiseaway', [signature])
  expect([await balanceOf(kept), await balanceOf(moved)]).toEqual([AMOUNT, 0n])
  const waiting = await payer.pay(kept, AMOUNT)
  const hashOf = async () =>
    (await payer.client.getLatestBlockhash({ commitment: 'processed' }).send()).value.blockhash
  const [head, genesis] = [await hashOf(), await payer.client.getGenesisHash().send()]
  expect(head).not.toBe(before?.blockhash)
  await sandbox.stop()
  sandbox = await open()
  expect([await hashOf(), await payer.client.getGenesisHash().send()]).toEqual([head, genesis])
  await lever(sandbox.rpcUrl, 'sandbox_release', [signature])
  await payer.mine(1)
  expect([await balanceOf(kept), await balanceOf(moved)]).toEqual([2n * AMOUNT, AMOUNT])
  const { value } = await payer.client.getSignatureStatuses([signature, waiting]).send()
  expect(value.map((status) => status?.confirmationStatus)).toEqual(['processed', 'processed'])
})

test("a fork takes a payment back across a new journal's start, and a restart changes nothing", async () => {
  const payer = await SolanaPayer.fund(sandbox.rpcUrl)
  const moved = await newOwner()
  // The journal begins anew at 8,000 lines, and a block is one.
  for (let thousand = 0; thousand < 7; thousand++) await payer.mine(1_000)
  await payer.mine(400)
  const signature = await payer.pay(moved, AMOUNT)
  await payer.mine(1)
  await payer.mine(640)
  const journal = await readFile(join(folder.path, 'sandbox', 'solana', 'chain.log'), 'utf8')
  expect(journal.split('\n').length).toBeLessThan(400)
  const balance = async () => (await payer.client.getBalance(moved, { commitment: 'processed' }).send()).value
  const hash = async () =>
    (await payer.client.getLatestBlockhash({ commitment: 'processed' }).send()).value.blockhash
  await lever(sandbox.rpcUrl, 'sandbox_reorganiseaway', [signature])
  expect(await balance()).toBe(0n)
  const head = await hash()
  await sandbox.stop()
  sandbox = await open()
  expect([await hash(), await balance()]).toEqual([head, 0n])
})

test('a held transaction is taken when released, however old its blockhash, also after a restart', async () => {
  const payer = await SolanaPayer.fund(sandbox.rpcUrl)
  const owner = await newOwner()
  const signature = await payer.pay(owner, AMOUNT)
  await payer.mine(1)
  await lever(sandbox.rpcUrl, 'sandbox_reorganiseaway', [signature])
  await payer.mine(300)
  await sandbox.stop()
  sandbox = await open()
  await lever(sandbox.rpcUrl, 'sandbox_release', [signature])
  await payer.mine(1)
  const { value } = await payer.client.getSignatureStatuses([signature]).send()
  expect(value[0]?.confirmationStatus).toBe('processed')
  await sandbox.stop()
  sandbox = await open()
  expect((await payer.client.getBalance(owner, { commitment: 'processed' }).send()).value).toBe(AMOUNT)
})

test('an account and its data are as of the commitment asked for, also after a restart and a fork', async () => {
  const payer = await SolanaPayer.fund(sandbox.rpcUrl)
  const account = await payer.makeNonce()
  const fresh = await newOwner()
  await payer.mine(4)
  type Accounts = {
    context: { slot: number }
    value: ({ lamports: number; data: [string, string] } | null)[]
  }
  const told = async (commitment: string) => {
    const config = { commitment, encoding: 'base64' }
    const params = [[account, fresh, payer.signer.address], config]
    const { context, value } = (await lever(sandbox.rpcUrl, 'getMultipleAccounts', params)) as Accounts
    expect(context.slot).toBe(await lever(sandbox.rpcUrl, 'getSlot', [{ commitment }]))
    const [nonce] = value.map((each) => each?.data[0] ?? null)
    return { nonce, lamports: value.map((each) => each?.lamports ?? null) }
  }
  const before = await told('finalized')
  const value = await payer.nonceValue(account)
  const signature = await payer.send([payer.transfer(fresh, AMOUNT)], { nonce: { account, value } })
  await payer.mine(1)
  const after = await told('processed')
  expect(after.nonce).not.toBe(before.nonce)
  expect([before.lamports[1], after.lamports[1]]).toEqual([null, Number(AMOUNT)])
  expect([await told('confirmed'), await told('finalized')]).toEqual([before, before])
  await sandbox.stop()
  sandbox = await open()
  expect([await told('processed'), await told('finalized')]).toEqual([after, before])
  await payer.mine(1)
  expect([await told('confirmed'), await told('finalized')]).toEqual([after, before])
  await payer.mine(2)
  expect(await told('finalized')).toEqual(after)
  await lever(sandbox.rpcUrl, 'sandbox_reorganiseaway', [signature])
  expect([await told('processed'), await told('finalized')]).toEqual([before, before])
  // On another fork a nonce moves on to another value.
  await lever(sandbox.rpcUrl, 'sandbox_release', [signature])
  await payer.mine(1)
  const forked = await told('processed')
  expect(forked.lamports).toEqual(after.lamports)
  expect([before.nonce, after.nonce]).not.toContain(forked.nonce)
  await sandbox.stop()
  sandbox = await open()
  expect([await told('processed'), await told('finalized')]).toEqual([forked, before])
})

test('a transaction over a durable nonce that fails in its block uses the nonce up, and pays its fee', async () => {
  const payer = await SolanaPayer.fund(sandbox.rpcUrl, 1_000_000_000n)
  const account = await payer.makeNonce()
  const value = await payer.nonceValue(account)
  const held = (await payer.client.getBalance(payer.signer.address, { commitment: 'processed' }).send()).value
  const tooMuch = payer.transfer(await newOwner(), 5n * 10n ** 9n)
  const signature = await payer.send([tooMuch], { nonce: { account, value }, skipPreflight: true })
  await payer.mine(1)
  const { value: statuses } = await payer.client.getSignatureStatuses([signature]).send()
  expect(statuses[0]?.err).not.toBeNull()
  expect(await payer.nonceValue(account)).not.toBe(value)
  const left = (await payer.client.getBalance(payer.signer.address, { commitment: 'processed' }).send()).value
  expect(left).toBe(held - 5_000n)
})

test('test tokens are paid to the account that wallets take, and told as wallets ask, also after a restart', async () => {
  const payer = await SolanaPayer.fund(sandbox.rpcUrl)
  const owner = await newOwner()
  const mint = sandboxMintOf('PYUSD_SOLANA')?.mint as Address
  const programId = 'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb' as Address
  const payment = await sandbox.client.signPayment('PYUSD_SOLANA', owner, 1_500_000n)
  await sandbox.client.send(payment)
  await payer.mine(4)
  const told = async () => {
    const client = stockClient(sandbox.rpcUrl)
    const parsed = { encoding: 'jsonParsed' } as const
    const [held] = (await client.getTokenAccountsByOwner(owner, { mint }, parsed).send()).value
    const byProgram = (await client.getTokenAccountsByOwner(owner, { programId }, parsed).send()).value
    expect(byProgram).toEqual([held])
    const { value } = await client.getTokenAccountBalance(held?.pubkey as Address).send()
    const supply = await client.getTokenSupply(mint).send()
    return [held?.account.data.parsed.info, value.uiAmountString, supply.value.amount]
  }
  const tokenAmount = { amount: '1500000', decimals: 6, uiAmount: 1.5, uiAmountString: '1.5' }
  const info = { mint, owner, state: 'initialized', isNative: false, tokenAmount }
  expect(await told()).toEqual([info, '1.5', '1500000'])
  const { txid, hex } = await sandbox.client.signPayment('PYUSD_SOLANA', owner, 1n)
  await sandbox.client.send({ txid, hex, replacement: payment })
  await payer.mine(1)
  await sandbox.client.withdraw({ txid, hex, replacement: payment })
  await payer.mine(4)
  await sandbox.stop()
  sandbox = await open()
  expect(await told()).toEqual([info, '1.5', '1500000'])
  await expect(payer.client.getTokenAccountBalance(owner).send()).rejects.toThrow('not a Token account')
})
