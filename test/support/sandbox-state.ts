import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { SignedPayment } from '../../src/sandbox/controls.ts'
import {
  CHAIN_PARAMETERS,
  type ChainParameters,
  type SandboxChainName,
} from '../../src/sandbox/utxo/chain-parameters.ts'
import { ChainState } from '../../src/sandbox/utxo/chain-state.ts'
import { ChainTransaction } from '../../src/sandbox/utxo/chain-transaction.ts'
import { Wallet } from '../../src/sandbox/utxo/utxo-wallet.ts'

/** 2026-11-21, noon. */
export const NOON_MS = Date.UTC(2026, 10, 21, 12)
/** A witness program that is nobody's, as a script. */
export const SHOP_SCRIPT = Buffer.concat([Buffer.of(0, 20), Buffer.alloc(20, 7)])

/** A folder that is gone after the test file; `using`-less, so that vitest's own hooks can end it. */
export async function temporaryFolder(): Promise<{ path: string; remove: () => Promise<void> }> {
  const path = await mkdtemp(join(tmpdir(), 'paylink-sandbox-'))
  return { path, remove: () => rm(path, { recursive: true, force: true }) }
}

/** A chain in a file, with a wallet key that is always the same. */
export function openState(
  path: string,
  options: { chain?: SandboxChainName; parameters?: Partial<ChainParameters>; nowMs?: number } = {},
): ChainState {
  return ChainState.open({
    parameters: { ...CHAIN_PARAMETERS[options.chain ?? 'litecoin'], ...options.parameters },
    path,
    newKey: () => Buffer.alloc(32, 3),
    nowMs: options.nowMs ?? NOON_MS,
    onSyncError: (error) => {
      throw error
    },
  })
}

/** A signed payment to the shop, unsent. */
export function signPayment(state: ChainState, amount: bigint, wallet = new Wallet(state)): SignedPayment {
  const signed = wallet.signPayment({ script: SHOP_SCRIPT, amount }, NOON_MS)
  if (signed === null) throw new Error('the wallet has no free coin')
  return signed
}

export const transactionOf = (signed: { readonly hex: string }): ChainTransaction =>
  ChainTransaction.parse(Buffer.from(signed.hex, 'hex'))

/** All that a restart must find again, as text. */
export function describeState(state: ChainState): string {
  return JSON.stringify({
    tip: state.hashOf(state.tip),
    height: state.tip.height,
    coins: state.coins.size,
    shop: [...state.coins.walletOutpoints()].length,
    mempool: [...state.mempool.all()].map((entry) => [
      entry.transaction.txid,
      String(entry.fee),
      entry.timeMs,
      entry.height,
    ]),
    stale: state.index.staleTips().map(({ block, branchLength }) => [state.hashOf(block), branchLength]),
  })
}
