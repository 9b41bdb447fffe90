// @module-tag bitcoind
import { expect, test } from 'vitest'
import { runAudit } from '../../src/audit/run-audit.ts'
import { until } from '../support/until.ts'
import { coinsOf, utxoDriver } from '../support/utxo-driver.ts'
import { WatchedChain } from '../support/watched-chain.ts'

/** Blocks that a pruning node keeps in any case (MIN_BLOCKS_TO_KEEP), and a file's worth below them. */
const BLOCKS = 288 + 200
/**
 * Small block files, and none deleted but by command. Litecoin's daemon has no small ones, so that nothing short of
 * 128 MB could be pruned there; `lying-node.test.ts` shows what both adapters make of a pruned node's word.
 */
const prunedBitcoin = utxoDriver('bitcoin', { arguments: ['-prune=1', '-fastprune'] })

test('a pruned node is followed while it has what is left to read, and halts its network once it has not', async () => {
  const watched = await WatchedChain.open(prunedBitcoin)
  try {
    const { node } = watched.chain
    await watched.watchAtTip()
    const early = await watched.state()
    await watched.stopWatchers()
    const missed = await watched.openInvoice([])
    await node.pay(missed.address, coinsOf(watched.driver.amount))
    await node.mine(BLOCKS)
    await watched.watchAtTip()
    await watched.untilStatus(missed.id, 'paid')
    await watched.stopWatchers()

    const pruned = await node.rpc<number>('pruneblockchain', [(early.height ?? 0) + 150])
    expect(pruned).toBeGreaterThan(early.height ?? 0)
    const invoice = await watched.openInvoice([await watched.watchAtTip()])
    await node.pay(invoice.address, coinsOf(watched.driver.amount))
    await node.mine(1)
    await watched.untilStatus(invoice.id, 'paid')
    await watched.stopWatchers()

    const place = { network: 'bitcoin-test', chain: 'bitcoin', livemode: false, sandbox: null } as const
    const urls = {
      rpcUrl: watched.chain.url,
      rpcSetting: 'TEST_BITCOIN_RPC_URL',
      furtherUrls: [],
      zmqUrl: null,
    }
    const results = await runAudit(watched.database.owner, [{ ...place, ...urls, tokenContracts: {} }])
    expect(results.filter(({ findings }) => findings.length > 0)).toEqual([])
    expect(results.find(({ name }) => name === 'chain_bitcoin-test')?.notChecked).toMatch(
      /^the node has pruned its blocks below \d+: of payments there only the block was checked/,
    )

    await watched.setBackTo(early)
    const before = await watched.balances()
    watched.watch()
    await until(async () => (await watched.state()).status === 'halted', { what: 'the network halts' })
    expect(await watched.state()).toMatchObject({
      hash: early.hash,
      reason: expect.stringMatching(/has pruned .* use a node that still has them/),
    })
    expect(await watched.balances()).toEqual(before)
  } finally {
    await watched.close()
  }
})
