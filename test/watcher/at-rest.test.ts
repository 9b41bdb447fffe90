import { afterEach, beforeEach, expect, test } from 'vitest'
import { Activity } from '../../src/runtime/activity.ts'
import { SandboxRpc } from '../../src/sandbox/sandbox-rpc.ts'
import { type DrivenSandbox, sandboxDriver } from '../support/sandbox-driver.ts'
import { until } from '../support/until.ts'
import { WatchedChain } from '../support/watched-chain.ts'

/** Longer than any test: what is found at rest is found for another reason. */
const REST_MS = 600_000

let watched: WatchedChain<DrivenSandbox>
let rpc: SandboxRpc
let activity: Activity
beforeEach(async () => {
  watched = await WatchedChain.open(sandboxDriver)
  rpc = new SandboxRpc(watched.chain.url)
  activity = new Activity({ activeMs: 0, restMs: REST_MS })
})
afterEach(async () => {
  await watched.close()
  await rpc.close()
})

/** A watcher that has read the chain and rests. */
const watchAtRest = () =>
  watched.watchAtTip({ changes: { activity, subscribe: (wake) => rpc.subscribe(wake), upkeepIntervalMs: 1 } })

test('at rest a payment is detected when it is sent, and paid with its block', async () => {
  const watcher = await watchAtRest()
  const invoice = await watched.openInvoice([watcher])
  await watched.chain.pay(invoice.address, watched.driver.amount)
  await watched.untilStatus(invoice.id, 'payment_detected')
  await watched.chain.mine(1)
  await watched.untilStatus(invoice.id, 'paid')
})

test('an invoice that is opened while its network rests expires at its deadline', async () => {
  const watcher = await watchAtRest()
  const expiresAtMs = Date.now() + 2_000
  const invoice = await watched.openInvoice([watcher], { expiresAtMs })
  activity.stir()
  await watched.untilStatus(invoice.id, 'expired')
  expect(Date.now()).toBeGreaterThanOrEqual(expiresAtMs)
})

test('a sandbox chain that was down notifies its followers when it is back', async () => {
  let woken = 0
  const unsubscribe = rpc.subscribe(() => {
    woken += 1
  })
  await until(() => woken >= 1, { what: 'the chain is followed' })
  await watched.chain.mine(1)
  await until(() => woken >= 2, { what: 'a block is told' })
  await watched.chain.stop()
  const before = woken
  await watched.chain.startAgain()
  await until(() => woken > before, { what: 'its return is told' })
  unsubscribe()
})
