import type { Network } from '../core/assets.ts'
import type { SandboxClient } from '../sandbox/sandbox-client.ts'
import { createSandboxControl, type SandboxControl } from '../sandbox/sandbox-control.ts'
import type { RoleContext, RunningRole } from './role.ts'

/** Keeps the sandbox chains going, which were opened with the process's nodes, and pays test invoices on them. */
export function startSandboxRole(context: RoleContext): RunningRole & { readonly control: SandboxControl } {
  const { clock, log, nodes, poolOf } = context
  const chains = new Map<Network, SandboxClient>()
  for (const { network, sandbox } of nodes) if (sandbox !== null) chains.set(network, sandbox.client)
  const control = createSandboxControl({ pool: poolOf('api'), clock, log, chains })
  return {
    control,
    stop: async () => {
      await control.stop()
      for (const { sandbox } of nodes) await sandbox?.stop()
    },
  }
}
