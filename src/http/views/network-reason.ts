import type { NetworkState } from '../../db/chain/network-state.ts'

const REASONS: { readonly [status in NetworkState['status']]: string | null } = {
  starting: null,
  ok: 'It is followed, and some payments on it may have to wait.',
  syncing: 'Its node is not at the tip of the chain yet.',
  unavailable: 'Its node does not answer as it should. It is asked again, and payments are found later.',
  halted: 'Nothing on it is credited until the operator has looked.',
}

/**
 * Why a network is not as it should be, as anybody may read it; null where all is well. The watcher's own reason names
 * invoices, addresses and hosts, which are for the operator: in the log and in `paylink doctor`.
 */
export const networkReason = ({ status, reason }: Pick<NetworkState, 'status' | 'reason'>): string | null =>
  reason === null ? null : REASONS[status]
