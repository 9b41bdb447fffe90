import { access, constants } from 'node:fs/promises'
import { homedir } from 'node:os'
import { delimiter, join } from 'node:path'

export const DAEMONS = {
  // Litecoin refuses replacements by default.
  litecoin: {
    binary: 'litecoind',
    install: 'apt-get install litecoind',
    cached: null,
    arguments: ['-mempoolreplacement=1'],
  },
  bitcoin: {
    binary: 'bitcoind',
    install: 'scripts/install-bitcoin-node.sh',
    /** Where that script puts it, below the folder of caches. */
    cached: 'paylink/bitcoin-knots/bitcoind',
    arguments: [],
  },
} as const
export type NodeChainName = keyof typeof DAEMONS

/** The daemon's path, or an error that names the command which installs it. */
export async function findDaemon(chain: NodeChainName): Promise<string> {
  const { binary, install, cached } = DAEMONS[chain]
  const caches = process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache')
  const onPath = (process.env.PATH ?? '').split(delimiter).map((folder) => join(folder, binary))
  for (const path of cached === null ? onPath : [...onPath, join(caches, cached)]) {
    try {
      await access(path, constants.X_OK)
      return path
    } catch (error) {
      if (!(error instanceof Error && 'code' in error)) throw error
    }
  }
  throw new Error(`this test needs a real node and there is no ${binary}: run ${install}`)
}
