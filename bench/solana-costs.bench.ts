import { randomBytes } from 'node:crypto'
import { address, getAddressDecoder } from '@solana/kit'
import { expect, test } from 'vitest'
import { SolanaAdapter, type WayOfWatching } from '../src/chain/solana/solana-adapter.ts'
import type { AssetId } from '../src/core/assets.ts'
import type { BlockRef } from '../src/core/invoice/types.ts'
import { systemClock } from '../src/runtime/clock.ts'
import { solanaDriver } from '../test/support/solana-driver.ts'
import { printFigure } from './support/figure.ts'

/** Looking at an address for the first time takes about a millisecond: more are computed from these. */
const OPEN = [10, 2_000, 20_000] as const
const COMPUTED_OPEN = 100_000
/** As many as are polled at most: of these also what it costs if each is asked for a token. */
const ASKED_FOR_TOKENS = 2_000
/** Rounds that are measured after one that looks at everything for the first time. */
const ROUNDS = 3
const TRANSACTIONS_IN_BLOCK = 400
/** A public cluster makes a slot every 400 ms, and each wakes the watcher. */
const ROUNDS_A_MINUTE = 150
/** Of a block of mainnet, votes included: an assumption, which the figure names. */
const MAINNET_TRANSACTIONS = 1_500

type Cost = { readonly calls: number; readonly bytes: number }

test('calls and bytes of watching Solana, by blocks and by accounts', async () => {
  const solana = await solanaDriver('blocks').start()
  try {
    const idle = await costOf(solana, 'blocks', 10)
    const perTransaction = await bytesOfTransaction(solana)
    const block: Cost = { calls: idle.calls, bytes: idle.bytes + perTransaction * MAINNET_TRANSACTIONS }
    print(
      'every block, however many are open',
      block,
      `${perTransaction.toFixed(0)} bytes a transaction measured; a block taken to have ${MAINNET_TRANSACTIONS}`,
    )
    const accounts: { open: number; cost: Cost }[] = []
    for (const open of OPEN) {
      const cost = await costOf(solana, 'accounts', open)
      accounts.push({ open, cost })
      print(`accounts, ${open} open`, cost, 'nobody pays, and all are asked for SOL')
      if (open === ASKED_FOR_TOKENS)
        print(
          `accounts, ${open} open for a token`,
          await costOf(solana, 'accounts', open, 'USDC_SOLANA'),
          'the same',
        )
    }
    const [few, , many] = accounts
    if (few === undefined || many === undefined) throw new Error('three were measured')
    const slope = (of: (cost: Cost) => number) => (of(many.cost) - of(few.cost)) / (many.open - few.open)
    const each = slope(({ bytes }) => bytes)
    const grown = COMPUTED_OPEN - few.open
    const computed: Cost = {
      calls: few.cost.calls + grown * slope(({ calls }) => calls),
      bytes: few.cost.bytes + grown * each,
    }
    print(`accounts, ${COMPUTED_OPEN} open`, computed, 'computed from the others')
    const crossover = Math.floor((block.bytes - few.cost.bytes) / each)
    printFigure({
      name: 'Open checkouts up to which accounts cost fewer bytes than blocks',
      target: 'chosen from it',
      measured: String(crossover),
      detail: `${each.toFixed(0)} bytes for each open checkout and round`,
    })
    expect(crossover).toBeGreaterThan(0)
  } finally {
    await solana.remove()
  }
})

type Solana = Awaited<ReturnType<ReturnType<typeof solanaDriver>['start']>>

/** Calls and bytes, both directions, of one round in which one block came. */
async function costOf(
  solana: Solana,
  way: WayOfWatching,
  open: number,
  asset: AssetId = 'SOL',
): Promise<Cost> {
  const addresses = Array.from({ length: open }, () => Uint8Array.from(randomBytes(32)))
  const adapter = new SolanaAdapter({
    livemode: false,
    rpcUrl: solana.url,
    rpcSetting: 'TEST_SOLANA_RPC_URL',
    clock: systemClock,
    way,
    openAddresses: async () => addresses,
    askedTokens: async () =>
      asset === 'SOL' ? [] : addresses.map((addressBytes) => ({ addressBytes, asset })),
  })
  try {
    adapter.watched.add(addresses)
    let at: BlockRef = await adapter.tip()
    const round = async () => {
      await solana.mine(1)
      const update = await adapter.nextUpdate(at, 100)
      at = update?.blocks.at(-1)?.block ?? at
    }
    await round()
    const { cost } = adapter.rpc
    const before = { ...cost }
    for (let count = 0; count < ROUNDS; count++) await round()
    return {
      calls: (cost.calls - before.calls) / ROUNDS,
      bytes: (cost.bytesSent + cost.bytesReceived - before.bytesSent - before.bytesReceived) / ROUNDS,
    }
  } finally {
    await adapter.close()
  }
}

/** What one plain transfer adds to the answer with its block. */
async function bytesOfTransaction(solana: Solana): Promise<number> {
  const adapter = solana.adapter()
  try {
    const bytesOfNext = async () => {
      const from = await adapter.tip()
      await solana.mine(1)
      const before = adapter.rpc.cost.bytesReceived
      await adapter.nextUpdate(from, 1)
      return adapter.rpc.cost.bytesReceived - before
    }
    const empty = await bytesOfNext()
    for (let count = 0; count < TRANSACTIONS_IN_BLOCK; count++) {
      await solana.pay(address(getAddressDecoder().decode(randomBytes(32))), 5_000_000n)
    }
    return ((await bytesOfNext()) - empty) / TRANSACTIONS_IN_BLOCK
  } finally {
    await adapter.close()
  }
}

function print(what: string, { calls, bytes }: Cost, detail: string): void {
  const minute = (value: number) => value * ROUNDS_A_MINUTE
  printFigure({
    name: `Watching Solana by ${what}: calls and bytes a minute`,
    target: 'known',
    measured: `${minute(calls).toFixed(0)} calls, ${(minute(bytes) / 2 ** 20).toFixed(1)} MiB`,
    detail: `${calls.toFixed(1)} calls and ${(bytes / 1024).toFixed(1)} KiB a round, 150 rounds a minute; ${detail}`,
  })
}
