// @module-tag litecoind
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { AddressSet } from '../../src/chain/address-set.ts'
import { encodeAddress } from '../../src/chain/utxo/address.ts'
import { historyOf } from '../../src/chain/utxo/block-source.ts'
import { openBlocks } from '../../src/chain/utxo/open-provider.ts'
import { receiveAddresses } from '../../src/chain/utxo/receive-addresses.ts'
import { createProgress } from '../../src/cli/progress-bar.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { rescanBlocks } from '../../src/watcher/rescan.ts'
import { makeDataDir, runProgram } from '../support/app.ts'
import type { TestNode } from '../support/litecoind.ts'
import { type DrivenNode, utxoDriver } from '../support/utxo-driver.ts'
import { WatchedChain } from '../support/watched-chain.ts'

const AMOUNT = '0.1'
/** The account m/84'/0'/0' of BIP84's test vectors; any account serves. */
const XPUB =
  'xpub6CatWdiZiodmUeTDp8LT5or8nmbKNcuyvz7WyksVFkKB4RHwCD3XyuvPEbvqAQY3rAPshWcMLoP2fMFMKHPJ4ZeZXYVUhLv1VMrjPC7PW6V'

let watched: WatchedChain<DrivenNode>
let node: TestNode
let place: Awaited<ReturnType<typeof makeDataDir>>
beforeAll(async () => {
  place = await makeDataDir()
  watched = await WatchedChain.open(utxoDriver('litecoin'))
  node = watched.chain.node
})
afterAll(async () => {
  await watched.close()
  await place.remove()
})
afterEach(() => watched.stopWatchers())

/** The checkpoint jumps to the tip, past blocks that nobody read. */
async function skipToTip(): Promise<number> {
  const height = await node.rpc<number>('getblockcount')
  await watched.database.owner.query('update network_state set height = $1, hash = $2', [
    height,
    await node.rpc('getbestblockhash'),
  ])
  return height
}

const paylink = (...args: string[]) =>
  runProgram(args, {
    DATABASE_URL: watched.database.ownerUrl,
    DATA_DIR: place.dataDir,
    TEST_LITECOIN_RPC_URL: node.rpcUrl,
  })
const rescan = (...args: string[]) => paylink('rescan', '--network', 'litecoin-test', ...args)

/** An invoice whose payment lies in a block that the watcher skipped. */
async function skippedPayment() {
  const watcher = await watched.watchAtTip()
  const from = (await watched.state()).height ?? 0
  await watcher.stop()
  const invoice = await watched.openInvoice([], watched.needs(2))
  await node.pay(invoice.address, AMOUNT)
  await node.mine(3)
  const height = await skipToTip()
  return { invoice, from: from + 1, height }
}

test('what the watcher skipped is recorded and paid, once, and the checkpoint stays', async () => {
  const { invoice, from, height } = await skippedPayment()
  const before = await watched.state()
  const first = await rescan('--from', String(from))
  expect(first).toMatchObject({ code: 0 })
  expect(first.stdout).toBe(
    `litecoin-test: 3 blocks to ${height} read again, 1 payments in them, 1 of them were missing and are recorded now.\n`,
  )
  expect(await watched.statusOf(invoice.id)).toBe('paid')
  const again = await rescan('--from', '1', '--json')
  expect(JSON.parse(again.stdout)).toEqual({
    network: 'litecoin-test',
    blocks: height,
    transfers: 1,
    recorded: 0,
    unknown_addresses: [],
  })
  expect(await watched.eventsOf(invoice.id)).toEqual(['payment_detected', 'confirming', 'paid'])
  expect(await watched.state()).toEqual(before)
  expect(again.stderr.split('\n').filter((line) => line.includes('%')).length).toBeLessThanOrEqual(10)
  expect(again.stderr).toMatch(/100 % block \d+ of \d+, 0 recorded/)
})

test('beside a running watcher a rescan records what is missing, and the watcher confirms it further', async () => {
  const { invoice, from } = await skippedPayment()
  const slow = await watched.openInvoice([], watched.needs(6))
  await watched.watchAtTip()
  await watched.stopWatchers()
  await node.pay(slow.address, AMOUNT)
  await node.mine(1)
  await skipToTip()
  await watched.watchAtTip()
  expect(await rescan('--from', String(from))).toMatchObject({ code: 0 })
  expect([await watched.statusOf(invoice.id), await watched.statusOf(slow.id)]).toEqual([
    'paid',
    'confirming',
  ])
  await node.mine(5)
  await watched.untilStatus(slow.id, 'paid')
})

type Moment = 'is read again' | 'is recorded'

/** Reads blocks again; once, after it read them or after its last look before the books, something happens. */
async function rescanWhile(
  { invoice, from, height }: Awaited<ReturnType<typeof skippedPayment>>,
  moment: Moment,
  happen: () => Promise<void>,
  onRecorded = () => {},
): Promise<void> {
  const addresses = new AddressSet()
  addresses.add([await node.addressBytesOf(invoice.address)])
  const provider = openBlocks(
    { chain: 'litecoin', livemode: false, rpcUrl: node.rpcUrl, rpcSetting: 'TEST_LITECOIN_RPC_URL' },
    addresses,
  )
  const hash = await node.rpc<string>('getblockhash', [height])
  let happened = false
  const happenOnce = async () => {
    if (happened) return
    happened = true
    await happen()
  }
  await rescanBlocks({
    pool: watched.database.owner,
    clock: systemClock,
    network: 'litecoin-test',
    readTwice: [],
    blocks: historyOf(
      {
        bestHash: () => provider.blocks.bestHash(),
        hashAt: (at) => provider.blocks.hashAt(at),
        hashesAt: (heights) => provider.blocks.hashesAt(heights),
        header: async (of) => {
          const header = await provider.blocks.header(of)
          if (moment === 'is recorded') await happenOnce()
          return header
        },
        wasDeclaredInvalid: (block) => provider.blocks.wasDeclaredInvalid(block),
        readBlock: (of) => provider.blocks.readBlock(of),
        readBlocks: async (hashes) => {
          const blocks = await provider.blocks.readBlocks(hashes)
          if (moment === 'is read again' && hashes.includes(hash)) await happenOnce()
          return blocks
        },
      },
      'LTC',
    ),
    from,
    to: height,
    checkpoint: { height, hash },
    mustAgree: false,
    unknownAddresses: new Map(),
    notifier: { invoiceChanged: onRecorded, deliveriesWaiting: () => {} },
    onBatch: () => {},
  }).finally(() => provider.close())
  expect(happened).toBe(true)
}

const MOMENTS: readonly Moment[] = ['is read again', 'is recorded']

test.each(MOMENTS)(
  'a block that leaves the chain while it %s does not keep its payment confirmed',
  async (moment) => {
    const skipped = await skippedPayment()
    const { id } = skipped.invoice
    await rescanWhile(skipped, moment, () => node.reorganise(3, 'waiting'))
    expect(await watched.paymentsOf(id)).toEqual(['detected'])
    await watched.watchAtTip()
    await watched.untilRead()
    await node.mine(2)
    await watched.untilStatus(id, 'paid')
  },
)

test.each(MOMENTS)(
  'a payment that the watcher credits in another block while its first one %s stays paid',
  async (moment) => {
    const skipped = await skippedPayment()
    const { id, address } = skipped.invoice
    const watcher = await watched.watchAtTip()
    watcher.adapter.watched.add([await node.addressBytesOf(address)])
    await rescanWhile(skipped, moment, async () => {
      await node.reorganise(3, 'mined-again')
      await watched.untilStatus(id, 'paid')
    })
    await node.mine(1)
    await watched.untilRead()
    expect(await watched.eventsOf(id)).toEqual(['payment_detected', 'confirming', 'paid'])
    expect(await watched.paymentsOf(id)).toEqual(['confirmed'])
  },
)

test('a rescan takes back what one that was killed left in a block that is gone', async () => {
  const skipped = await skippedPayment()
  const { id } = skipped.invoice
  const judgeReorganisation = async () => {
    await node.reorganise(3, 'waiting')
    await watched.watchAtTip()
    await watched.untilRead()
    await watched.stopWatchers()
  }
  const die = () => {
    throw new Error('killed')
  }
  await expect(rescanWhile(skipped, 'is recorded', judgeReorganisation, die)).rejects.toThrow('killed')
  expect(await watched.paymentsOf(id)).toEqual(['confirmed'])
  expect((await rescan('--from', String(skipped.from))).code).toBe(0)
  expect(await watched.paymentsOf(id)).toEqual(['detected'])
  await watched.watchAtTip()
  await node.mine(2)
  await watched.untilStatus(id, 'paid')
})

test('where several providers must agree, what is read again is not final before they do', async () => {
  const { invoice, from, height } = await skippedPayment()
  const addresses = new AddressSet()
  addresses.add([await node.addressBytesOf(invoice.address)])
  const provider = openBlocks(
    { chain: 'litecoin', livemode: false, rpcUrl: node.rpcUrl, rpcSetting: 'TEST_LITECOIN_RPC_URL' },
    addresses,
  )
  const { hash } = await watched.state()
  const before = await watched.availableBalance()
  const rescan = (mustAgree: boolean) =>
    rescanBlocks({
      pool: watched.database.owner,
      clock: systemClock,
      network: 'litecoin-test',
      blocks: historyOf(provider.blocks, 'LTC'),
      readTwice: [],
      from,
      to: height,
      checkpoint: { height, hash: hash ?? '' },
      mustAgree,
      unknownAddresses: new Map(),
      notifier: { invoiceChanged: () => {}, deliveriesWaiting: () => {} },
      onBatch: () => {},
    })
  expect(await rescan(true)).toMatchObject({ recorded: 1 })
  expect(await watched.statusOf(invoice.id)).toBe('confirming')
  expect(await watched.availableBalance()).toBe(before)
  await watched.watchAtTip()
  await node.mine(1)
  await watched.untilStatus(invoice.id, 'paid')
  await provider.close()
})

test('money on an address that the database lost, or has not come to, is reported and recorded nowhere', async () => {
  await watched.watchAtTip()
  await watched.stopWatchers()
  const next = 5_000
  await watched.database.owner.query(
    `insert into account_key (keyspace, xpub, path, next_index, created_at) values ('litecoin-test', $1, 'm', $2, now())
     on conflict (keyspace) do update set xpub = $1, next_index = $2`,
    [XPUB, next],
  )
  const addressAt = receiveAddresses(XPUB)
  const [lost, beyond] = [
    encodeAddress('rltc', addressAt(next - 7)),
    encodeAddress('rltc', addressAt(next + 3)),
  ]
  const from = (await node.rpc<number>('getblockcount')) + 1
  await node.pay(lost, '0.25')
  await node.pay(beyond, '0.5')
  await node.mine(1)
  await skipToTip()
  expect(await rescan('--from', String(from))).toMatchObject({ code: 0 })
  const { code, stdout } = await rescan('--from', String(from), '--ahead', '10')
  expect(code).toBe(1)
  expect(stdout).toMatch(
    new RegExp(`✗ 0\\.25 LTC in block ${from} .* at ${lost}, index ${next - 7}, which no invoice has`),
  )
  expect(stdout).toMatch(
    new RegExp(`✗ 0\\.5 LTC in block ${from} .* at ${beyond}, index ${next + 3}, which no invoice has`),
  )
})

test('a wrong command line exits with 2, and what cannot be done with 1 and one line', async () => {
  for (const [args, told] of [
    [['--from', '0'], /--from must be 1 or more/],
    [['--from', 'x'], /--from must be a whole number/],
    [['--from', '9', '--to', '8'], /--to must not be below --from/],
    [['--from', '1', '--ahead', '100001'], /--ahead must be at most 100000/],
  ] as const) {
    const { code, stderr } = await rescan(...args)
    expect([code, stderr]).toEqual([2, expect.stringMatching(told)])
  }
  const unknown = await paylink('rescan', '--network', 'dogecoin-test', '--from', '1')
  expect([unknown.code, unknown.stderr]).toEqual([
    2,
    expect.stringMatching(/--network must be one of .*litecoin-test/),
  ])
  const above = await rescan('--from', '999999')
  expect([above.code, above.stderr]).toEqual([
    1,
    expect.stringMatching(/was read to block \d+, and what lies above/),
  ])
  await watched.database.owner.query(`update network_state set hash = $1`, ['ab'.repeat(32)])
  const fork = await rescan('--from', '1')
  expect([fork.code, fork.stderr]).toEqual([
    1,
    expect.stringMatching(/another block at height \d+ than the watcher read/),
  ])
  await skipToTip()
})

test('on a terminal the progress is one line that is drawn again, elsewhere a line for each tenth', () => {
  const drawn: string[] = []
  const bar = createProgress({ isTTY: true, write: (text) => drawn.push(text) }, 100)
  for (let done = 25; done <= 100; done += 25) bar.update(done, `block ${done}`)
  bar.end()
  expect(drawn[1]).toBe(`\r${'█'.repeat(15)}${'░'.repeat(15)} 50 % block 50\u001b[K`)
  expect(drawn.join('').split('\n')).toHaveLength(2)
  const plain: string[] = []
  const lines = createProgress({ write: (text) => plain.push(text) }, 1_000)
  for (let done = 1; done <= 1_000; done++) lines.update(done, `block ${done}`)
  lines.end()
  expect(plain).toHaveLength(10)
  expect(plain[0]).toBe('10 % block 100\n')
})
