import type { ProgramName } from './programs.ts'

/** The program of each chain's node. */
export const NODE_PROGRAMS = { bitcoin: 'bitcoind', litecoin: 'litecoind' } as const satisfies {
  readonly [chain: string]: ProgramName
}
export type NodeChainName = keyof typeof NODE_PROGRAMS

/** What it is given besides; Litecoin refuses replacements by default. */
export const NODE_ARGUMENTS: { readonly [chain in NodeChainName]: readonly string[] } = {
  bitcoin: [],
  litecoin: ['-mempoolreplacement=1'],
}
