import type { SandboxControls } from '../controls.ts'
import type { UtxoSandboxClient } from './utxo-sandbox-client.ts'

/** On a chain with a mempool a payment is detected there, and its replacement is one by fee. */
export function utxoControls(client: UtxoSandboxClient): SandboxControls {
  return {
    signPayment: (_asset, address, amount) => client.signPayment(address, amount),
    send: async ({ hex }) => {
      await client.send(hex)
    },
    show: async ({ hex }, until) => {
      if (until === 'detected') await client.sendHeld(hex)
      else await client.send(hex)
    },
    replace: async ({ replacement }) => {
      await client.send(replacement.hex)
    },
    withdraw: async ({ txid }) => {
      await client.reorganiseAway(txid)
    },
    release: ({ txid }) => client.release(txid),
    plans: { keep: (plan) => client.plan(plan), done: (txid) => client.done(txid) },
  }
}
