import { createRequire } from 'node:module'
import type { Log } from '../../runtime/log.ts'
import { fetchPackage, PackageUnavailable } from '../fetch-package.ts'
import { LITESVM, localPackage, packageFor, thisPlatform } from '../platform-package.ts'

/**
 * The part of litesvm's native library that the sandbox uses. It is loaded without litesvm's own JavaScript, which loads
 * no package from a folder of ours.
 */
export type NativeSvm = {
  toBytes(): Uint8Array
  setBlockhashCheck(check: boolean): void
  setTransactionHistory(capacity: bigint): void
  withNativeMints(): void
  setAccount(owner: Uint8Array, account: NativeAccount): void
  getAccount(owner: Uint8Array): NativeAccount | null
  getBalance(owner: Uint8Array): bigint | null
  minimumBalanceForRentExemption(dataBytes: bigint): bigint
  expireBlockhash(): void
  getClock(): { slot: bigint; unixTimestamp: bigint }
  setClock(clock: { slot: bigint; unixTimestamp: bigint }): void
  setSlotHashes(hashes: readonly { slot: bigint; hash: string }[]): void
  sendLegacyTransaction(wire: Uint8Array): NativeOutcome
  sendVersionedTransaction(wire: Uint8Array): NativeOutcome
  simulateLegacyTransaction(wire: Uint8Array): NativeFailure | { meta(): NativeMeta }
  simulateVersionedTransaction(wire: Uint8Array): NativeFailure | { meta(): NativeMeta }
}

type NativeAccount = {
  lamports(): bigint
  data(): Uint8Array
  owner(): Uint8Array
  executable(): boolean
}

type NativeMeta = { logs(): string[]; computeUnitsConsumed(): bigint }

/** A number where the error has no fields, in the order of the SDK's enumeration. */
export type NativeError =
  | number
  | { readonly accountIndex: number }
  | {
      readonly index: number
      readonly err?: () => number | { readonly code?: number; readonly msg?: string }
    }

type NativeFailure = { err(): NativeError; meta(): NativeMeta }
type NativeOutcome = NativeMeta | NativeFailure

export type SvmModule = {
  readonly LiteSvm: { new (): NativeSvm; fromBytes(state: Uint8Array): NativeSvm }
  readonly Account: new (
    lamports: bigint,
    data: Uint8Array,
    owner: Uint8Array,
    executable: boolean,
    rentEpoch: bigint,
  ) => NativeAccount
}

/** The real Solana virtual machine has no build for this platform, or it was not installed. */
export class SvmMissing extends Error {
  override name = 'SvmMissing'
}

type Places = {
  readonly dataDir: string
  readonly log: Log
  /** Whether a package that is not here may be fetched. */
  readonly mayFetch?: boolean
}

/** Loads the native library. Throws `SvmMissing`, which names the fix, where it is absent. */
export async function loadSvm({ dataDir, log, mayFetch = false }: Places): Promise<SvmModule> {
  const platform = thisPlatform()
  const wanted = packageFor(LITESVM, platform)
  try {
    if (wanted === null) throw new PackageUnavailable(`litesvm has no build for ${platform}`)
    const folder = await localPackage(wanted, dataDir)
    if (folder === null && !mayFetch) throw new PackageUnavailable(`${wanted.name} is not installed`)
    return createRequire(import.meta.url)(folder ?? (await fetchPackage(wanted, dataDir, log))) as SvmModule
  } catch (error) {
    const reason = error instanceof PackageUnavailable ? error.message : `${wanted?.name} does not load`
    throw new SvmMissing(
      `the sandbox has no Solana: ${reason}; run npm start again when the npm registry can be reached, or set TEST_SOLANA_RPC_URL to a node`,
      { cause: error },
    )
  }
}

export const isFailure = (outcome: NativeOutcome | { meta(): NativeMeta }): outcome is NativeFailure =>
  'err' in outcome
