import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { encodeEvmAddress } from '../../src/chain/evm/address.ts'
import { receiveEvmAddresses } from '../../src/chain/evm/receive-addresses.ts'
import { makeDataDir, runProgram } from '../support/app.ts'
import { bytecodeOf, callData } from '../support/evm-contracts.ts'
import { type DrivenAnvil, evmDriver } from '../support/evm-driver.ts'
import { WatchedChain } from '../support/watched-chain.ts'

const USDC = 10_000_000n
const ETHER = 10n ** 16n
/** The account m/44'/60'/0' of some seed; any account serves. */
const XPUB =
  'xpub6CatWdiZiodmUeTDp8LT5or8nmbKNcuyvz7WyksVFkKB4RHwCD3XyuvPEbvqAQY3rAPshWcMLoP2fMFMKHPJ4ZeZXYVUhLv1VMrjPC7PW6V'

let watched: WatchedChain<DrivenAnvil>
let place: Awaited<ReturnType<typeof makeDataDir>>
beforeAll(async () => {
  place = await makeDataDir()
  watched = await WatchedChain.open(evmDriver('USDC_BASE'))
})
afterEach(() => watched.stopWatchers())
afterAll(async () => {
  await watched.close()
  await place.remove()
})

const paylink = (...args: string[]) =>
  runProgram(args, {
    DATABASE_URL: watched.database.ownerUrl,
    DATA_DIR: place.dataDir,
    TEST_BASE_RPC_URL: watched.chain.url,
    TEST_BASE_USDC_ADDRESS: watched.chain.token.contract,
  })
const rescan = (...args: string[]) => paylink('rescan', '--network', 'base-test', ...args)

/** Checkpoint and second reading jump to the tip, past blocks that nobody read. */
async function skipToTip(): Promise<number> {
  const height = await watched.chain.anvil.height()
  await watched.database.owner.query(
    'update network_state set height = $1, hash = $2, second_height = $1, second_hash = $2',
    [height, await watched.chain.tipHash()],
  )
  return height
}

test('payments of every kind in skipped blocks are recorded by a rescan, once, and become paid', async () => {
  const { anvil, token } = watched.chain
  const payer = await anvil.deploy(await bytecodeOf('BatchPayer'))
  await watched.watchAtTip()
  await watched.stopWatchers()
  const from = (await anvil.height()) + 1
  const inEther = { asset: 'ETH_BASE', amount: ETHER, confirmations: { ETH_BASE: 1 } } as const
  const [usdc, plain, inner] = [
    await watched.openInvoice([]),
    await watched.openInvoice([], inEther),
    await watched.openInvoice([], inEther),
  ]
  await anvil.send(token.mint(usdc.address, USDC))
  await anvil.send({ to: plain.address, value: ETHER })
  const data = callData('pay(address[],uint256[])', [inner.address], [ETHER])
  await anvil.send({ to: payer, value: ETHER, data })
  await anvil.mine(4)
  const to = await skipToTip()
  const first = await rescan('--from', String(from))
  expect(first).toMatchObject({ code: 0 })
  expect(first.stdout).toBe(
    `base-test: 4 blocks to ${to} read again, 3 payments in them, 3 of them were missing and are recorded now.\n`,
  )
  // It is the watcher that hears the chain's word, and reads tokens the second time.
  for (const { id } of [usdc, plain, inner]) expect(await watched.statusOf(id)).toBe('confirming')
  await watched.watchAtTip()
  for (const { id } of [usdc, plain, inner]) await watched.untilStatus(id, 'paid')
  await watched.stopWatchers()
  const again = await rescan('--from', '1', '--json')
  expect(JSON.parse(again.stdout)).toMatchObject({ blocks: to, transfers: 3, recorded: 0 })
  expect(again.stderr).toMatch(/100 % block \d+ of \d+, 0 recorded/)
  for (const { id } of [usdc, plain, inner]) {
    expect(await watched.eventsOf(id)).toEqual(['payment_detected', 'confirming', 'paid'])
  }
  const audit = await paylink('audit')
  expect(audit.stdout).toMatch(/chain_base-test|base-test/)
})

test('money on an address that the database has not come to is reported with its address', async () => {
  await watched.watchAtTip()
  await watched.stopWatchers()
  await watched.database.owner.query(
    `insert into account_key (keyspace, xpub, path, next_index, created_at) values ('evm-test', $1, 'm', 5, now())
     on conflict (keyspace) do update set xpub = $1, next_index = 5`,
    [XPUB],
  )
  const address = encodeEvmAddress(receiveEvmAddresses(XPUB)(7))
  const from = (await watched.chain.anvil.height()) + 1
  await watched.chain.anvil.send(watched.chain.token.mint(address, USDC))
  await watched.chain.anvil.mine(1)
  await skipToTip()
  const { code, stdout } = await rescan('--from', String(from), '--ahead', '10')
  expect(code).toBe(1)
  expect(stdout).toMatch(
    new RegExp(`✗ 10 USDC in block ${from} .* at ${address}, index 7, which no invoice has`),
  )
})
