import { spawn } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pino from 'pino'
import {
  createPublicClient,
  createWalletClient,
  defineChain,
  getContract,
  http,
  keccak256,
  parseEther,
  parseUnits,
  toHex,
} from 'viem'
import { mnemonicToAccount } from 'viem/accounts'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { compileContract } from '../../scripts/compile-contracts.mjs'
import type { EvmChain as EvmNetworkName } from '../../src/core/chain/evm-networks.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { AnvilMissing, findAnvil } from '../../src/sandbox/evm/anvil-program.ts'
import { EvmChain } from '../../src/sandbox/evm/evm-chain.ts'
import { SANDBOX_USDC_CONTRACT } from '../../src/sandbox/evm/evm-genesis.ts'
import { type SandboxEvm, startEvmChain } from '../../src/sandbox/evm/start-evm-chain.ts'
import { TEST_USDC_BYTECODE } from '../../src/sandbox/evm/test-usdc.ts'
import { TEST_USDC_ABI } from '../support/test-usdc-abi.ts'
import { until } from '../support/until.ts'

const WORDS = 'test test test test test test test test test test test junk'
const buyer = mnemonicToAccount(WORDS, { addressIndex: 0 })
const SHOP: `0x${string}` = '0x52908400098527886E0F7030069857D2E4169EE7'
const log = pino({ level: process.env.LOG_LEVEL ?? 'silent' })

let dataDir: string
const open: SandboxEvm[] = []
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'paylink-evm-'))
})
afterEach(async () => {
  for (const chain of open.splice(0)) await chain.stop()
  await rm(dataDir, { recursive: true, force: true })
})

async function start(chain: EvmNetworkName = 'ethereum', blockIntervalMs = 0): Promise<SandboxEvm> {
  const started = await startEvmChain({ chain, dataDir, clock: systemClock, log, blockIntervalMs })
  open.push(started)
  return started
}

async function stop(chain: SandboxEvm): Promise<void> {
  open.splice(open.indexOf(chain), 1)
  await chain.stop()
}

/** A stock client of the chain, with the key of the account that is left to people. */
function clientsOf({ rpcUrl, chainId }: SandboxEvm) {
  const chain = defineChain({
    id: chainId,
    name: 'sandbox',
    nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
    rpcUrls: { default: { http: [rpcUrl] } },
  })
  const shared = { chain, transport: http(rpcUrl), pollingInterval: 50, cacheTime: 0 }
  return {
    chain,
    reader: createPublicClient(shared),
    wallet: createWalletClient({ ...shared, account: buyer }),
  }
}

test('the committed test USDC is what its source compiles to', async () => {
  const { abi, bytecode } = await compileContract('TestUsdc')
  expect(TEST_USDC_BYTECODE).toBe(bytecode)
  expect(TEST_USDC_ABI).toEqual(abi)
})

test('a stock wallet pays on the sandbox, and safe and finalized follow close behind', async () => {
  const sandbox = await start('ethereum', 50)
  const { reader, wallet } = clientsOf(sandbox)
  expect(await reader.getChainId()).toBe(31_337)
  const hash = await wallet.sendTransaction({ to: SHOP, value: parseEther('1.25') })
  const { blockNumber } = await reader.waitForTransactionReceipt({ hash })
  await until(async () => (await reader.getBlock({ blockTag: 'finalized' })).number >= blockNumber, {
    what: 'the payment is final',
  })
  // The tip first: blocks that come between the questions bring the others closer, and never further away.
  const heightOf = async (blockTag: 'latest' | 'safe' | 'finalized') =>
    (await reader.getBlock({ blockTag })).number
  const tip = await heightOf('latest')
  const [safe, finalized] = [await heightOf('safe'), await heightOf('finalized')]
  expect(Number(tip) - Number(safe)).toBeLessThanOrEqual(2)
  expect(Number(tip) - Number(finalized)).toBeLessThanOrEqual(3)
  expect(await reader.getBalance({ address: SHOP })).toBe(parseEther('1.25'))
})

test('test USDC stands on Base at a known address, with the words and decimals of the real one', async () => {
  const sandbox = await start('base')
  const { reader, wallet } = clientsOf(sandbox)
  expect(sandbox.tokenContracts.USDC).toBe(SANDBOX_USDC_CONTRACT)
  const usdc = getContract({
    address: SANDBOX_USDC_CONTRACT,
    abi: TEST_USDC_ABI,
    client: { public: reader, wallet },
  })
  expect(await usdc.read.name()).toBe('USDC')
  expect(await usdc.read.symbol()).toBe('USDC')
  expect(await usdc.read.decimals()).toBe(6)
  expect(await usdc.read.owner()).toBe(buyer.address)
  await usdc.write.transfer([SHOP, parseUnits('12.5', 6)])
  await sandbox.client.mine(1)
  expect(await usdc.read.balanceOf([SHOP])).toBe(12_500_000n)
  await usdc.write.mint([SHOP, 1n])
  await sandbox.client.mine(1)
  expect(await usdc.read.balanceOf([SHOP])).toBe(12_500_001n)
  const stranger = mnemonicToAccount(WORDS, { addressIndex: 7 })
  await expect(usdc.simulate.mint([SHOP, 1n], { account: stranger })).rejects.toThrow('only the owner mints')
  await expect(usdc.simulate.transfer([SHOP, 10n ** 30n])).rejects.toThrow('exceeds balance')
})

test('USDC moves by a signature once, in its time, and by nobody else (EIP-3009, EIP-712)', async () => {
  const sandbox = await start('base')
  const { reader, wallet, chain } = clientsOf(sandbox)
  const usdc = getContract({
    address: SANDBOX_USDC_CONTRACT,
    abi: TEST_USDC_ABI,
    client: { public: reader, wallet },
  })
  const holder = mnemonicToAccount(WORDS, { addressIndex: 5 })
  const now = BigInt(Math.floor(Date.now() / 1_000))
  const message = {
    from: holder.address,
    to: SHOP,
    value: 7_000_000n,
    validAfter: 0n,
    validBefore: now + 3_600n,
    nonce: keccak256(toHex('sweep 1')),
  }
  const sign = async (changes: Partial<typeof message> = {}, chainId = chain.id) => {
    const signed = { ...message, ...changes }
    const signature = await holder.signTypedData({
      domain: { name: 'USDC', version: '2', chainId, verifyingContract: SANDBOX_USDC_CONTRACT },
      primaryType: 'TransferWithAuthorization',
      types: {
        TransferWithAuthorization: [
          { name: 'from', type: 'address' },
          { name: 'to', type: 'address' },
          { name: 'value', type: 'uint256' },
          { name: 'validAfter', type: 'uint256' },
          { name: 'validBefore', type: 'uint256' },
          { name: 'nonce', type: 'bytes32' },
        ],
      },
      message: signed,
    })
    const r = signature.slice(0, 66) as `0x${string}`
    const s = `0x${signature.slice(66, 130)}` as `0x${string}`
    const v = Number.parseInt(signature.slice(130), 16)
    const { from, to, value, validAfter, validBefore, nonce } = signed
    return [from, to, value, validAfter, validBefore, nonce, v, r, s] as const
  }
  const good = await sign()
  const [from, to, , ...rest] = good
  await expect(usdc.simulate.transferWithAuthorization([from, to, 8_000_000n, ...rest])).rejects.toThrow(
    'invalid signature',
  )
  await expect(usdc.simulate.transferWithAuthorization(await sign({}, 1))).rejects.toThrow(
    'invalid signature',
  )
  await expect(
    usdc.simulate.transferWithAuthorization(await sign({ validBefore: now - 10n })),
  ).rejects.toThrow('expired')
  await expect(
    usdc.simulate.transferWithAuthorization(await sign({ validAfter: now + 1_000n })),
  ).rejects.toThrow('not yet valid')
  await usdc.write.transferWithAuthorization(good)
  await sandbox.client.mine(1)
  expect(await usdc.read.balanceOf([SHOP])).toBe(7_000_000n)
  expect(await usdc.read.authorizationState([holder.address, message.nonce])).toBe(true)
  await expect(usdc.simulate.transferWithAuthorization(good)).rejects.toThrow('used or canceled')
})

test('what would change the chain behind its journal is refused, and nobody comes in without the password', async () => {
  const { rpcUrl } = await start()
  const { origin, username, password } = new URL(rpcUrl)
  const ask = (method: string, authorization?: string) =>
    fetch(origin, {
      method: 'POST',
      headers: authorization === undefined ? {} : { authorization },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: [] }),
    })
  const basic = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
  for (const method of [
    'anvil_setBalance',
    'evm_mine',
    'hardhat_reset',
    'eth_sendUnsignedTransaction',
    'anvil_reset',
  ]) {
    expect(await (await ask(method, basic)).json()).toMatchObject({ error: { code: -32_601 } })
  }
  expect((await ask('eth_chainId')).status).toBe(401)
  expect(await (await ask('eth_chainId', basic)).json()).toMatchObject({ result: '0x7a69' })
})

test('a payment that was detected is replaced, and one that was safe leaves the chain and comes back', async () => {
  const { client, ...sandbox } = await start()
  const { reader } = clientsOf({ client, ...sandbox })
  const first = await client.signPayment('ETH', SHOP, 5n)
  await client.show(first, 'detected')
  const other = await client.signPayment('ETH', SHOP, 1n)
  await expect(client.show(other, 'detected')).rejects.toThrow('another test keeps this chain still')
  await client.send(other)
  const height = await reader.getBlockNumber()
  const old = await reader.getBlock()
  expect(old.transactions).toEqual([first.txid])
  expect((await reader.getBlock({ blockTag: 'safe' })).number).toBe(height - 1n)
  await client.replace(first)
  expect((await reader.getBlock({ blockNumber: height })).hash).not.toBe(old.hash)
  expect(await reader.getBlockNumber()).toBe(height + 1n)
  expect(await reader.getBalance({ address: SHOP })).toBe(1n)
  await expect(reader.getTransactionReceipt({ hash: first.txid as `0x${string}` })).rejects.toThrow()

  const second = await client.signPayment('ETH', SHOP, 100n)
  await client.show(second, 'confirmed')
  const receipt = await reader.getTransactionReceipt({ hash: second.txid as `0x${string}` })
  expect((await reader.getBlock({ blockTag: 'safe' })).number).toBe(receipt.blockNumber)
  expect((await reader.getBlock({ blockTag: 'finalized' })).number).toBeLessThan(receipt.blockNumber)
  await client.withdraw(second)
  expect(await reader.getBalance({ address: SHOP })).toBe(1n)
  await client.release(second)
  await client.mine(1)
  expect(await reader.getBalance({ address: SHOP })).toBe(101n)
})

test('a stop and a start find the very same chain, at the same address, with payments that still wait', async () => {
  const before = await start('base')
  const { reader } = clientsOf(before)
  for (const amount of [3n, 4n, 5n]) {
    await before.client.send(await before.client.signPayment('USDC_BASE', SHOP, amount))
    await before.client.mine(1)
  }
  const waiting = await before.client.signPayment('ETH_BASE', SHOP, 9n)
  await before.client.send(waiting)
  const tip = await reader.getBlock()
  await stop(before)
  const after = await start('base')
  expect(after.rpcUrl).toBe(before.rpcUrl)
  const again = clientsOf(after).reader
  expect((await again.getBlock()).hash).toBe(tip.hash)
  await after.client.mine(1)
  expect(await again.getBalance({ address: SHOP })).toBe(9n)
})

test('a second process finds the chain served and takes over when the first is gone', async () => {
  const first = await start()
  const second = await start()
  expect(second.rpcUrl).toBe(first.rpcUrl)
  await first.client.send(await first.client.signPayment('ETH', SHOP, 6n))
  await second.client.mine(1)
  const { reader } = clientsOf(second)
  const { hash } = await reader.getBlock()
  await stop(first)
  const isServed = async () => {
    try {
      return (await reader.getBlock({ blockTag: 'latest' })).hash === hash
    } catch {
      // Nobody has the port, or whoever has it opens the chain.
      return false
    }
  }
  await until(isServed, { what: 'the second serves the chain' })
})

/** Serves a chain in a process of its own, out of the build that `npm test` makes first. */
const PROGRAM = `
  import { startEvmChain } from ${JSON.stringify(new URL('../../dist/sandbox/evm/start-evm-chain.js', import.meta.url))}
  const log = { error() {}, warn() {}, debug() {}, info() {} }
  const chain = await startEvmChain({
    chain: 'ethereum', dataDir: process.argv[1], clock: () => new Date(), log, blockIntervalMs: 0 })
  for (let amount = 1n; ; amount += 1n) {
    const payment = await chain.client.signPayment('ETH', ${JSON.stringify(SHOP)}, 1n)
    await chain.client.send(payment)
    if (amount % 3n === 0n) {
      const [hash] = await chain.client.mine(1)
      console.log(payment.txid + ' ' + hash)
    }
  }`

test('kill -9 loses no payment and no block that was reported, and leaves no anvil behind', {
  tags: ['ps'],
}, async () => {
  for (let round = 0; round < 3; round++) {
    const child = spawn(process.execPath, ['--input-type=module', '-e', PROGRAM, dataDir], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let output = ''
    child.stdout.on('data', (text: Buffer) => {
      output += text
    })
    const lines = () => output.split('\n').slice(0, -1)
    await until(() => lines().length >= 3 + round * 2, {
      what: 'some payments are in blocks',
      timeoutMs: 90_000,
    })
    child.kill('SIGKILL')
    await new Promise((resolve) => child.once('close', resolve))
    const [txid = '', hash = ''] = lines().at(-1)?.split(' ') ?? []
    await until(async () => !(await runningIn(dataDir)), { what: 'anvil has ended' })
    const sandbox = await start()
    const { reader } = clientsOf(sandbox)
    const block = await reader.getBlock({ blockHash: hash as `0x${string}` })
    expect(block.transactions).toContain(txid)
    await stop(sandbox)
  }
})

/** Whether a process has the folder on its command line. */
async function runningIn(folder: string): Promise<boolean> {
  const list = spawn('ps', ['-eo', 'args'], { stdio: ['ignore', 'pipe', 'ignore'] })
  let text = ''
  for await (const chunk of list.stdout) text += String(chunk)
  return text.split('\n').some((line) => line.includes(folder) && line.includes('anvil'))
}

test('an anvil that is killed is started again with the same chain', {
  tags: ['ps'],
}, async () => {
  const sandbox = await start()
  await sandbox.client.send(await sandbox.client.signPayment('ETH', SHOP, 8n))
  await sandbox.client.mine(2)
  const { reader } = clientsOf(sandbox)
  const tip = await reader.getBlock()
  const list = spawn('ps', ['-eo', 'pid,args'], { stdio: ['ignore', 'pipe', 'ignore'] })
  let text = ''
  for await (const chunk of list.stdout) text += String(chunk)
  const line = text
    .split('\n')
    .find(
      (each) => each.includes(dataDir) && /bin\/anvil|^\s*\d+ anvil/.test(each) && !each.includes('/bin/sh'),
    )
  process.kill(Number(line?.trim().split(' ')[0]), 'SIGKILL')
  await until(
    async () => {
      try {
        return (
          (await reader.getBlock({ blockTag: 'latest' })).hash === tip.hash &&
          (await sandbox.client.mine(1)).length === 1
        )
      } catch {
        return false
      }
    },
    { what: 'the chain goes on', timeoutMs: 90_000 },
  )
  expect(await reader.getBalance({ address: SHOP })).toBe(8n)
})

test('a long journal becomes a state, and the chain goes on as the same, after a kill too', async () => {
  const folder = join(dataDir, 'chain')
  await mkdir(folder)
  const options = {
    folder,
    program: await findAnvil({ dataDir, log }),
    chainId: 31_337,
    clock: systemClock,
    log,
  }
  let chain = await EvmChain.open(options)
  for (let made = 0; made < 12; made++) await chain.mine()
  expect(await chain.compact(20)).toBe(false)
  const { hash } = chain.tip
  expect(await chain.compact(10)).toBe(true)
  expect([chain.tip.hash, chain.records]).toEqual([hash, 0])
  await chain.mine()
  const after = chain.tip.hash
  expect((await chain.ask('eth_getBlockByNumber', ['0x5', false])).result).toMatchObject({ number: '0x5' })
  await chain.stop()
  chain = await EvmChain.open(options)
  expect([chain.tip.hash, chain.records]).toEqual([after, 1])
  await chain.stop()
  expect(JSON.parse(await readFile(join(folder, 'head.json'), 'utf8'))).toMatchObject({ generation: 1 })
})

test('a chain at rest runs no anvil, answers what it was asked, and goes on as the same', {
  tags: ['ps'],
}, async () => {
  const folder = join(dataDir, 'chain')
  await mkdir(folder)
  const program = await findAnvil({ dataDir, log })
  const options = { folder, program, chainId: 31_339, clock: systemClock, log, restAfterMs: 1_500 }
  const chain = await EvmChain.open(options)
  const atRest = () => until(async () => chain.isAtRest, { what: 'the chain is at rest' })
  try {
    await chain.mine()
    const { hash } = chain.tip
    const height = () => chain.ask('eth_blockNumber', [])
    expect((await height()).result).toBe('0x1')
    await atRest()
    expect(await runningIn(folder)).toBe(false)
    // Asked before: nothing has changed since.
    expect((await height()).result).toBe('0x1')
    expect(chain.isAtRest).toBe(true)
    // Not asked before.
    expect((await chain.ask('eth_getBlockByNumber', ['0x1', false])).result).toMatchObject({ hash })
    expect(chain.isAtRest).toBe(false)
    // What is asked over and over keeps nobody up.
    const asking = setInterval(() => void height(), 20)
    await atRest().finally(() => clearInterval(asking))
    await chain.mine()
    expect(chain.tip).toMatchObject({ height: 2 })
    expect((await height()).result).toBe('0x2')
    const [first, second] = await Promise.all([
      chain.ask('eth_getBlockByNumber', ['0x2', false]),
      chain.ask('eth_getBlockByNumber', ['latest', false]),
    ])
    expect(first.result).toMatchObject({ parentHash: hash })
    expect(second.result).toEqual(first.result)
  } finally {
    await chain.stop()
  }
})

test('a transaction that waits for a block keeps its anvil, and is in the next one', async () => {
  const folder = join(dataDir, 'chain')
  await mkdir(folder)
  const program = await findAnvil({ dataDir, log })
  const chain = await EvmChain.open({
    folder,
    program,
    chainId: 31_339,
    clock: systemClock,
    log,
    restAfterMs: 50,
  })
  try {
    const raw = await buyer.signTransaction({
      chainId: 31_339,
      to: SHOP,
      value: 8n,
      gas: 21_000n,
      maxFeePerGas: 10n ** 10n,
      nonce: 0,
    })
    const txid = await chain.send(raw)
    const isAsked = async () => (await chain.ask('eth_gasPrice', [])).result !== undefined
    await until(isAsked, { what: 'the chain was asked' })
    expect(await chain.pending()).toBe(1)
    expect((await chain.mine()).txids).toEqual([txid])
  } finally {
    await chain.stop()
  }
})

test('without anvil, the error says what to do', async () => {
  const nowhere = { dataDir, log, platform: 'sunos-sparc', onPath: '/nowhere/anvil', mayFetch: true }
  await expect(findAnvil(nowhere)).rejects.toThrow(AnvilMissing)
  await expect(findAnvil(nowhere)).rejects.toThrow(/install Foundry .* or set TEST_/)
})
