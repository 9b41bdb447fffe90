import type { Config } from '../config/config.ts'
import type { Network } from '../core/assets.ts'
import { loadInvoice } from '../db/invoices/invoices.ts'
import { beginTestPayment } from '../flows/begin-test-payment.ts'
import type { ChainNode } from '../nodes/chain-nodes.ts'
import { openSandboxNodes } from '../nodes/open-sandbox-nodes.ts'
import type { Pool } from '../postgres/pool.ts'
import { withTransaction } from '../postgres/transaction.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Log } from '../runtime/log.ts'
import type { SandboxControls } from '../sandbox/controls.ts'
import { createSandboxControl, type SandboxControl, type TestInvoices } from '../sandbox/sandbox-control.ts'
import type { RoleContext, RunningRole } from './role.ts'

/**
 * Serves the sandbox chains, or finds them served by another process of this machine and takes over when that one
 * is gone.
 */
export async function startSandboxRole(
  config: Config,
  deps: { clock: Clock; log: Log; hasSandboxRole: boolean },
): Promise<RunningRole & { readonly nodes: readonly ChainNode[] }> {
  // Where live money is, a start runs nothing that was not installed.
  const nodes = await openSandboxNodes(config, { ...deps, mayFetch: config.sandbox })
  return {
    nodes,
    stop: async () => {
      for (const { sandbox } of nodes) await sandbox?.stop()
    },
  }
}

/** What pays test invoices on the sandbox chains, for the API and the checkout. */
export function openSandboxControl(context: RoleContext): SandboxControl {
  const { clock, log, nodes, poolOf } = context
  const chains = new Map<Network, SandboxControls>()
  for (const { network, sandbox } of nodes) if (sandbox !== null) chains.set(network, sandbox.controls)
  return createSandboxControl({ invoices: testInvoices(poolOf('api'), clock), log, chains })
}

/** The stored invoices, as test payments read them and move their deadlines. */
export function testInvoices(pool: Pool, clock: Clock): TestInvoices {
  return {
    begin: (input) => beginTestPayment({ pool, clock }, input),
    read: async (tenant, invoiceId) => {
      const stored = await withTransaction(pool, tenant, (tx) => loadInvoice(tx, tenant, invoiceId))
      return stored?.invoice ?? null
    },
  }
}
