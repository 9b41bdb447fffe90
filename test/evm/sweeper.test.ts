import { randomBytes } from 'node:crypto'
import { secp256k1 } from '@noble/curves/secp256k1.js'
import { HDKey } from '@scure/bip32'
import { parseTransaction } from 'viem'
import { recoverAuthorizationAddress } from 'viem/utils'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { compileContract } from '../../scripts/compile-contracts.mjs'
import { encodeEvmAddress } from '../../src/chain/evm/address.ts'
import {
  CREATE2_DEPLOYER,
  CREATE2_DEPLOYER_CODE,
  collectCall,
  delegatedTo,
  sweeperCodeOf,
  sweeperDeployment,
  sweeperOf,
} from '../../src/chain/evm/sweeper.ts'
import { SWEEPER_CODE, SWEEPER_CREATION, SWEEPER_WORDS } from '../../src/chain/evm/sweeper-code.ts'
import { readTransaction } from '../../src/chain/evm/transaction.ts'
import { delegatedSweepGasAt, sweeperGasAt } from '../../src/core/payout/gas.ts'
import {
  depositAddress,
  hotWalletAddress,
  signFromHotWallet,
  signSweeperDelegation,
} from '../../src/payouts/sign/evm/sign-evm.ts'
import { TEST_USDT_BYTECODE } from '../../src/sandbox/evm/test-usdt.ts'
import { type Anvil, newEvmAddress, startAnvil } from '../support/anvil.ts'
import { bytecodeOf, callData } from '../support/evm-contracts.ts'
import { tokenCode } from '../support/evm-payout-world.ts'

const CHAIN_ID = 31_337n
const ETHER = 10n ** 18n
const UNITS = 5_000_000n

const account = HDKey.fromMasterSeed(randomBytes(32)).derive("m/44'/60'/1'")
const hot = hotWalletAddress(account)
const sweeper = sweeperOf(hot)
const hexOf = (bytes: Uint8Array): `0x${string}` => `0x${Buffer.from(bytes).toString('hex')}`

let anvil: Anvil
let usdt: string
let holder: string
let nextIndex = 0
let hotNonce = 0
let creation: Sent

beforeAll(async () => {
  anvil = await startAnvil()
  holder = (await anvil.rpc<string[]>('eth_accounts')).at(-1) ?? ''
  await anvil.send({ to: encodeEvmAddress(hot), value: 100n * ETHER })
  usdt = await anvil.deploy(tokenCode(holder, TEST_USDT_BYTECODE))
  creation = await sendFromHot(CREATE2_DEPLOYER, sweeperDeployment(hot))
}, 120_000)
afterAll(() => anvil?.remove())

type Sent = { readonly status: string; readonly gasUsed: string }

/** Mined at once. */
async function sendFromHot(
  to: Uint8Array,
  data: Uint8Array,
  delegation?: ReturnType<typeof signSweeperDelegation>,
): Promise<Sent> {
  const fees = { maxFeePerGas: 10n ** 11n, maxPriorityFeePerGas: 10n ** 9n }
  const terms = { chainId: CHAIN_ID, nonce: BigInt(hotNonce++), gas: 1_500_000n, value: 0n, ...fees }
  const { raw, txid } = signFromHotWallet(account, { ...terms, to, data, delegation })
  await anvil.rpc('eth_sendRawTransaction', [hexOf(raw)])
  await anvil.mine(1)
  return anvil.rpc('eth_getTransactionReceipt', [txid])
}

/** A new deposit address with tokens. */
async function deposit(token = usdt, amount = UNITS) {
  const index = nextIndex++
  const address = depositAddress(account, index)
  const data = callData('transfer(address,uint256)', encodeEvmAddress(address), amount)
  if (token === usdt) await anvil.rpc('eth_sendTransaction', [{ from: holder, to: usdt, data }])
  else
    await anvil.send({
      to: token,
      data: callData('mint(address,uint256)', encodeEvmAddress(address), amount),
    })
  await anvil.mine(1)
  return { index, address }
}

async function holds(who: Uint8Array, token = usdt): Promise<bigint> {
  const data = callData('balanceOf(address)', encodeEvmAddress(who))
  return BigInt(await anvil.rpc<string>('eth_call', [{ to: token, data }, 'latest']))
}

const codeAt = (address: Uint8Array) =>
  anvil.rpc<string>('eth_getCode', [encodeEvmAddress(address), 'latest'])
const collect = (address: Uint8Array, amount = UNITS, token = usdt) =>
  collectCall(Buffer.from(token.slice(2), 'hex'), address, amount)
const delegate = (index: number, nonce = 0n) =>
  signSweeperDelegation(account, index, { chainId: CHAIN_ID, nonce })

/** As Tether would. */
async function owner(signature: string, ...args: Parameters<typeof callData>[1][]): Promise<void> {
  const data = callData(signature, ...args)
  const word = await anvil.rpc<string>('eth_call', [{ to: usdt, data: callData('owner()') }, 'latest'])
  const from = `0x${word.slice(-40)}`
  await anvil.rpc('eth_sendTransaction', [{ from, to: usdt, data }])
  await anvil.mine(1)
}

test('the committed sweeper is what its source compiles to, and stands where its code says', async () => {
  const { bytecode, deployed, immutables } = await compileContract('Sweeper')
  expect([SWEEPER_CREATION, SWEEPER_CODE]).toEqual([bytecode, deployed])
  expect([SWEEPER_WORDS.hot, SWEEPER_WORDS.self]).toEqual(immutables)
  expect(TEST_USDT_BYTECODE).toBe((await compileContract('TestUsdt')).bytecode)
  expect(await codeAt(CREATE2_DEPLOYER)).toBe(CREATE2_DEPLOYER_CODE)
  expect(await codeAt(sweeper)).toBe(sweeperCodeOf(hot))
})

test('the gas that is bought pays for what is kept as it may cost one day (EIP-8037)', async () => {
  const [price, market] = [{ maxFee: 10n ** 9n, tip: 0n }, { dataGas: 0n }]
  const byte = 1_530n
  const account = 120n * byte
  const codeBytes = BigInt((await codeAt(sweeper)).length - 2) / 2n
  const created = BigInt(creation.gasUsed) - codeBytes * 200n - 32_000n + codeBytes * byte + account
  expect(sweeperGasAt(price, market)).toBeGreaterThan((created * 6n) / 5n)
  const { index, address } = await deposit()
  const { gasUsed } = await sendFromHot(sweeper, collect(address), delegate(index))
  const swept = BigInt(gasUsed) - 25_000n + 7_500n + account + 23n * byte + 64n * byte
  expect(delegatedSweepGasAt(price, market)).toBeGreaterThan((swept * 11n) / 10n)
})

test('one transaction delegates a deposit address and takes its USDT, which answers nothing', async () => {
  const { index, address } = await deposit()
  const before = await holds(hot)
  const { status, gasUsed } = await sendFromHot(sweeper, collect(address), delegate(index))
  expect(status).toBe('0x1')
  expect(await codeAt(address)).toBe(delegatedTo(sweeper))
  expect([await holds(address), await holds(hot)]).toEqual([0n, before + UNITS])
  // What the prices of sweeps go by, and what is bought for one.
  expect(Number(gasUsed)).toBeLessThan(160_000)
  // Later ones need no delegation.
  await anvil.rpc('eth_sendTransaction', [
    { from: holder, to: usdt, data: callData('transfer(address,uint256)', encodeEvmAddress(address), 7n) },
  ])
  await anvil.mine(1)
  expect((await sendFromHot(sweeper, collect(address, 7n))).status).toBe('0x1')
  expect(await holds(address)).toBe(0n)
})

test('nobody but the hot wallet moves anything, at the sweeper or at a delegated address', async () => {
  const { index, address } = await deposit()
  await sendFromHot(sweeper, collect(address, 1n), delegate(index))
  const left = await holds(address)
  const take = hexOf(collect(address, left))
  const isMoved = async (from: Uint8Array | string, to: Uint8Array, data: string) => {
    const sender = typeof from === 'string' ? from : encodeEvmAddress(from)
    await anvil.rpc('anvil_impersonateAccount', [sender])
    await anvil.rpc('anvil_setBalance', [sender, `0x${ETHER.toString(16)}`])
    const sent = { from: sender, to: encodeEvmAddress(to), data, gas: '0x7a120' }
    await anvil.rpc('eth_sendTransaction', [sent])
    await anvil.mine(1)
    return (await holds(address)) !== left
  }
  const refusedTo = (from: Uint8Array | string, to: Uint8Array) => {
    const call = { from: typeof from === 'string' ? from : encodeEvmAddress(from), data: take }
    return anvil.rpc('eth_call', [{ ...call, to: encodeEvmAddress(to) }, 'latest'])
  }
  const other = (await deposit()).address
  for (const from of [holder, address, other])
    for (const to of [sweeper, address]) {
      await expect(refusedTo(from, to)).rejects.toThrow('revert')
      expect(await isMoved(from, to, take)).toBe(false)
    }
  // The hot wallet as little, but by the sweeper.
  await expect(refusedTo(hot, address)).rejects.toThrow('revert')
  // What the token itself would obey, and what is none of the contract's own words, at either place.
  const words = [
    callData('transfer(address,uint256)', holder, left),
    callData('approve(address,uint256)', holder, left),
    callData('sweep(address,uint256)', usdt, left),
    take.slice(0, 10),
    `0xa9059cbb${take.slice(10)}`,
    ...Array.from({ length: 20 }, () => hexOf(randomBytes(Math.ceil(Math.random() * 200)))),
    ...Array.from({ length: 10 }, () => `${take.slice(0, 10)}${randomBytes(96).toString('hex')}`),
  ]
  for (const data of words)
    for (const to of [sweeper, address]) expect(await isMoved(holder, to, data), data).toBe(false)
  expect(await holds(address)).toBe(left)
})

test.each([
  [
    'blocks the deposit',
    async (address: Uint8Array) => owner('blacklist(address,bool)', encodeEvmAddress(address), 1n),
    'blacklisted',
  ],
  ['pauses it', () => owner('pause(bool)', 1n), 'paused'],
  ['takes a fee', () => owner('setParams(uint256,uint256)', 100n, 1_000_000n), 'revert'],
])('where the issuer %s, a sweep moves nothing', async (_what, act, reason) => {
  const { index, address } = await deposit()
  const before = await holds(hot)
  await act(address)
  try {
    expect((await sendFromHot(sweeper, collect(address), delegate(index))).status).toBe('0x0')
    const call = { from: encodeEvmAddress(hot), to: encodeEvmAddress(sweeper), data: hexOf(collect(address)) }
    await expect(anvil.rpc('eth_call', [call, 'latest'])).rejects.toThrow(reason)
    expect([await holds(address), await holds(hot)]).toEqual([UNITS, before])
  } finally {
    await owner('pause(bool)', 0n)
    await owner('setParams(uint256,uint256)', 0n, 0n)
  }
  // What reverted has delegated the address all the same (EIP-7702).
  expect(await codeAt(address)).toBe(delegatedTo(sweeper))
})

test('a sweep reverts where the token says no, holds too little, or the address is not delegated', async () => {
  const refusing = await anvil.deploy(await bytecodeOf('RefusingToken'))
  const refused = await deposit(refusing)
  const said = await sendFromHot(sweeper, collect(refused.address, UNITS, refusing), delegate(refused.index))
  const short = await deposit()
  const bare = await deposit()
  expect([
    said.status,
    (await sendFromHot(sweeper, collect(short.address, UNITS + 1n), delegate(short.index))).status,
    (await sendFromHot(sweeper, collect(bare.address))).status,
    // Signed with a nonce that is not the address's own, which delegates nothing.
    (await sendFromHot(sweeper, collect(bare.address), delegate(bare.index, 1n))).status,
  ]).toEqual(['0x0', '0x0', '0x0', '0x0'])
  expect([await holds(short.address), await holds(bare.address)]).toEqual([UNITS, UNITS])
  expect(await codeAt(bare.address)).toBe('0x')
})

test('a token that calls back while it is swept, or answers nonsense, takes nothing beside itself', async () => {
  const own = await deposit()
  const other = await deposit()
  await sendFromHot(sweeper, collect(own.address, 1n), delegate(own.index))
  await sendFromHot(sweeper, collect(other.address, 1n), delegate(other.index))
  const calling = await anvil.deploy(
    await bytecodeOf('CallingToken', encodeEvmAddress(sweeper), usdt, encodeEvmAddress(other.address)),
  )
  const mint = callData('mint(address,uint256)', encodeEvmAddress(own.address), UNITS)
  await anvil.send({ to: calling, data: mint })
  await anvil.mine(1)
  const before = await holds(hot)
  expect((await sendFromHot(sweeper, collect(own.address, UNITS, calling))).status).toBe('0x1')
  expect([await holds(own.address, calling), await holds(hot, calling)]).toEqual([0n, UNITS])
  expect([await holds(own.address), await holds(other.address)]).toEqual([UNITS - 1n, UNITS - 1n])
  expect(await holds(hot)).toBe(before)
  // No token at all, and one that says of balances less than a word.
  const nothing = newEvmAddress().address
  const mute = await anvil.deploy(await bytecodeOf('StipendPayer'))
  for (const token of [nothing, mute])
    expect((await sendFromHot(sweeper, collect(own.address, 0n, token))).status).toBe('0x0')
})

test('a delegated address takes ether with the least gas there is, and with words beside it', async () => {
  const { index, address } = await deposit()
  await sendFromHot(sweeper, collect(address), delegate(index))
  const payer = await anvil.deploy(await bytecodeOf('StipendPayer'))
  const to = encodeEvmAddress(address)
  await anvil.send({ to: payer, value: 3n, data: callData('pay(address)', to), gas: 100_000 })
  await anvil.send({ to, value: 5n, data: '0xdeadbeef00', gas: 60_000 })
  await anvil.send({ to, value: 7n, gas: 25_000 })
  await anvil.mine(1)
  expect(BigInt(await anvil.rpc<string>('eth_getBalance', [to, 'latest']))).toBe(15n)
})

test('a token that asks a delegated address about its signature believes that address’s own key alone', async () => {
  const { index, address } = await deposit()
  const asker = await anvil.deploy(await bytecodeOf('SignatureAsker'))
  const hash = randomBytes(32)
  const signatureBy = (key: Uint8Array | null) => {
    if (key === null) throw new Error('no key')
    const bytes = secp256k1.sign(hash, key, { prehash: false, format: 'recovered' })
    return Buffer.concat([bytes.subarray(1), Buffer.of(27 + (bytes[0] ?? 0))])
  }
  const isGood = async (signature: Buffer) => {
    const head = callData('isGood(address,bytes32,bytes)', encodeEvmAddress(address), hexOf(hash), 96n, 65n)
    const data = `${head}${signature.toString('hex').padEnd(192, '0')}`
    return BigInt(await anvil.rpc<string>('eth_call', [{ to: asker, data }, 'latest'])) === 1n
  }
  const own = signatureBy(account.deriveChild(0).deriveChild(index).privateKey)
  const other = signatureBy(account.deriveChild(0).deriveChild(index + 1).privateKey)
  expect([await isGood(own), await isGood(other)]).toEqual([true, false])
  await sendFromHot(sweeper, collect(address), delegate(index))
  const short = Buffer.concat([own.subarray(0, 64)])
  expect([await isGood(own), await isGood(other), await isGood(short)]).toEqual([true, false, false])

  const valid = `1626ba7e${'0'.repeat(56)}`
  const answer = (words: string) =>
    anvil.rpc<string>('eth_call', [
      { to: encodeEvmAddress(address), data: `0x1626ba7e${hash.toString('hex')}${words}` },
      'latest',
    ])
  const word = (value: bigint) => value.toString(16).padStart(64, '0')
  const [r, s, v] = [own.subarray(0, 32), own.subarray(32, 64), own[64] ?? 0]
  const body = (length: bigint, ...parts: (Buffer | string)[]) =>
    word(64n) +
    word(length) +
    parts.map((part) => (typeof part === 'string' ? part : part.toString('hex'))).join('')
  const highS = word(secp256k1.Point.CURVE().n - BigInt(hexOf(s)))
  expect(await answer(body(65n, own))).toBe(`0x${valid}`)
  const malformed = [
    ...[0n, 1n, 64n, 66n, 96n, 2n ** 64n, 2n ** 256n - 1n].map((length) => body(length, own)),
    ...[0, 1, v - 27, 26, 29, 255, 55 - v].map((byte) => body(65n, r, s, Buffer.of(byte))),
    body(65n, r, highS, Buffer.of(55 - v)),
    body(65n, r, word(0n), Buffer.of(v)),
    body(65n, word(0n), s, Buffer.of(v)),
    body(65n, own.subarray(0, 64)),
    body(65n),
    ...[0n, 96n, 2n ** 32n, 2n ** 256n - 4n, 2n ** 256n - 1n].map(
      (at) => word(at) + word(65n) + hexOf(own).slice(2),
    ),
    word(64n),
    '',
  ]
  for (const words of malformed) expect(await answer(words), words).toBe(`0x${'0'.repeat(64)}`)
})

test('another implementation reads a signed delegation as it was meant: to the sweeper, on one chain', async () => {
  const delegation = delegate(9, 300n)
  const { address: to } = newEvmAddress()
  const terms = {
    chainId: CHAIN_ID,
    nonce: 3n,
    gas: 400_000n,
    value: 0n,
    maxFeePerGas: 9n,
    maxPriorityFeePerGas: 1n,
  }
  const data = collect(Buffer.from(to.slice(2), 'hex'))
  const { raw } = signFromHotWallet(account, { ...terms, to: sweeper, data, delegation })
  const read = parseTransaction(hexOf(raw) as `0x04${string}`)
  const [item] = read.authorizationList ?? []
  expect(item).toMatchObject({ chainId: Number(CHAIN_ID), nonce: 300 })
  if (item === undefined) throw new Error('no authorization')
  const signedFor = 'address' in item ? item.address : undefined
  expect(signedFor?.toLowerCase()).toBe(hexOf(sweeper))
  expect(await recoverAuthorizationAddress({ authorization: item })).toBe(
    encodeEvmAddress(depositAddress(account, 9)),
  )
  expect(readTransaction(raw)).toEqual({ ...terms, to: sweeper, data, delegation })
  // The same again, byte for byte: that is how the signer knows it again.
  expect(
    signFromHotWallet(account, { ...terms, to: sweeper, data, delegation: delegate(9, 300n) }).raw,
  ).toEqual(raw)
  expect(() => signSweeperDelegation(account, 9, { chainId: 0n, nonce: 0n })).toThrow()
})
