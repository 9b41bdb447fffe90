import { systemClock } from '../../src/runtime/clock.ts'
import { createLogger } from '../../src/runtime/log.ts'
import { type SandboxChain, startUtxoChain } from '../../src/sandbox/utxo/start-utxo-chain.ts'
import type { MoneyChain } from './payout-world.ts'
import { temporaryFolder } from './sandbox-state.ts'

/** A sandbox chain of Litecoin whose blocks come only when asked for, as money for payouts. */
export async function startSandboxMoney(): Promise<
  MoneyChain & { readonly sandbox: SandboxChain; remove(): Promise<void> }
> {
  const folder = await temporaryFolder()
  const sandbox = await startUtxoChain({
    chain: 'litecoin',
    dataDir: folder.path,
    clock: systemClock,
    log: createLogger('silent'),
    blockIntervalMs: 0,
  })
  // Room for reorganisations: the first blocks of a sandbox stay.
  await sandbox.client.mine(20)
  return {
    chain: 'litecoin',
    rpcUrl: sandbox.rpcUrl,
    sandbox,
    pay: async (address, amount) => {
      const { hex } = await sandbox.client.signPayment(address, amount)
      return { txid: await sandbox.client.send(hex), hex }
    },
    mine: (blocks) => sandbox.client.mine(blocks),
    remove: async () => {
      await sandbox.stop()
      await folder.remove()
    },
  }
}
