import { EsploraAdapter } from '../../src/chain/utxo/esplora-adapter.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import type { ChainDriver, DrivenChain } from './chain-driver.ts'
import type { NodeChainName } from './daemons.ts'
import { type EsploraServer, startEsploraServer } from './esplora-server.ts'
import { settingOf, utxoDriver } from './utxo-driver.ts'

export type DrivenEsplora = DrivenChain & { readonly server: EsploraServer }

/** Drives a real node through an Esplora server that stands over it. Every address it makes is an open checkout's. */
export function esploraDriver(chain: NodeChainName): ChainDriver<DrivenEsplora> {
  const real = utxoDriver(chain)
  return {
    ...real,
    title: `${chain} through an Esplora server`,
    start: async () => {
      const driven = await real.start()
      const server = await startEsploraServer(driven.node)
      const addresses: Buffer[] = []
      const options = { chain, livemode: false, url: server.url, setting: settingOf(chain) }
      return {
        ...driven,
        server,
        url: server.url,
        adapter: (url = server.url) =>
          new EsploraAdapter({ ...options, url, clock: systemClock, openAddresses: async () => addresses }),
        recipe: { module: 'chain/utxo/esplora-adapter.js', name: 'EsploraAdapter', options },
        newAddress: async () => {
          const made = await driven.newAddress()
          addresses.push(made.addressBytes)
          return made
        },
        stop: () => server.stop(),
        startAgain: () => server.start(),
        remove: async () => {
          await server.stop()
          await driven.remove()
        },
        lies: [],
      }
    },
  }
}
