import { Transaction } from '@scure/btc-signer'
import { outputScriptOf } from '../../src/chain/utxo/output-script.ts'
import { loadConfig } from '../../src/config/config.ts'
import { configuredNodes } from '../../src/nodes/chain-nodes.ts'
import { forgeBalance } from '../support/forge-balance.ts'
import { PayoutWorld } from '../support/payout-world.ts'
import { startSandboxMoney } from '../support/sandbox-money.ts'
import { describeGrants, type Installation, type Signed } from './grants-suite.ts'

const LTC = 100_000_000n

describeGrants('Litecoin', open)

async function open(): Promise<Installation> {
  const money = await startSandboxMoney()
  const world = await PayoutWorld.open(money)
  const [node] = configuredNodes(loadConfig({ TEST_LITECOIN_RPC_URL: money.rpcUrl }))
  if (node === undefined) throw new Error('no node')
  const victim = await world.openShop([LTC, LTC, LTC], 100)
  const other = await world.openShop([LTC])
  const thief = await world.openShop([])
  await world.openInvoice(victim, LTC)
  await world.openInvoice(thief, LTC)
  await forgeBalance(world.database.owner, thief, { asset: 'LTC', amount: LTC, now: world.now })
  const paid = await world.payout(victim, '0.5')
  await world.sign()
  await world.tracker().pass()
  await money.mine(1)
  await world.endRefused()
  const approved = await world.payout(victim, '0.3')
  const ofOther = await world.payout(other, '0.2')
  await world.payout(thief, '0.5')
  await world.request(victim, '0.1')
  await world.watch()
  const scriptOf = (address: string): string =>
    Buffer.from(outputScriptOf(address, 'litecoin', world.parameters)?.script ?? []).toString('hex')
  return {
    world,
    node,
    victim,
    thief,
    bystander: scriptOf(ofOther.destination),
    approved: [paid, approved, ofOther].map(({ destination, amount }) => ({
      destination: scriptOf(destination),
      amount,
    })),
    theirs: world.newAddress(),
    paidBy: ({ raw, change }: Signed) => {
      const transaction = Transaction.fromRaw(raw, { allowUnknownOutputs: true, allowUnknownInputs: true })
      return Array.from({ length: transaction.outputsLength }, (_, index) =>
        transaction.getOutput(index),
      ).flatMap(({ script = new Uint8Array(), amount = 0n }, index) =>
        index === change ? [] : [{ to: Buffer.from(script).toString('hex'), amount }],
      )
    },
    close: async () => {
      await world.close()
      await money.remove()
    },
  }
}
