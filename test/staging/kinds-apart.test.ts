import { mkdir, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { EvmAdapter } from '../../src/chain/evm/evm-adapter.ts'
import { SolanaAdapter } from '../../src/chain/solana/solana-adapter.ts'
import { EsploraAdapter } from '../../src/chain/utxo/esplora-adapter.ts'
import { UtxoAdapter } from '../../src/chain/utxo/utxo-adapter.ts'
import { UTXO_PARAMETERS, type UtxoChain } from '../../src/core/chain/utxo-parameters.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { startAnvil } from '../support/anvil.ts'
import { makeDataDir, runProgram } from '../support/app.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'

/** Staging and live money: what belongs to one never serves the other. */

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

const IS_STAGING = /leads to a staging database, .*: set STAGING=1/
const IS_NOT_STAGING = /leads to a database that is not for staging, and STAGING is 1/

describe('a database', () => {
  let database: TestDatabase
  beforeEach(async () => {
    database = await createTestDatabase()
    closing.push(() => database.drop())
    // The template is marked; here nobody has started yet.
    await database.owner.query('delete from installation')
  })
  /** Each in a data folder of its own. */
  const start = async (args: readonly string[], env: { readonly [name: string]: string }) => {
    const { dataDir, remove } = await makeDataDir()
    closing.push(remove)
    const { code, stderr } = await runProgram(args, { DATA_DIR: dataDir, ...env })
    return code === 0 ? 'runs' : stderr
  }
  const asOwner = (STAGING: string, ...args: readonly string[]) =>
    start(args, { STAGING, DATABASE_URL: database.ownerUrl })

  test('of staging opens as staging alone, to the owner and to every role', async () => {
    expect(await asOwner('1', 'migrate')).toBe('runs')
    expect(await asOwner('1', 'migrate')).toBe('runs')
    expect(await asOwner('0', 'migrate')).toMatch(IS_STAGING)
    expect(await asOwner('0', 'audit')).toMatch(IS_STAGING)
    for (const role of ['api', 'watcher', 'delivery', 'signer'] as const) {
      const name = `${role.toUpperCase()}_DATABASE_URL`
      const told = await start(['start', role], { [name]: database.urls[role] })
      expect(told).toMatch(new RegExp(`^paylink: ${name} leads to a staging database`))
    }
  })

  test('that is not of staging never opens as staging', async () => {
    expect(await asOwner('0', 'migrate')).toBe('runs')
    expect(await asOwner('1', 'migrate')).toMatch(IS_NOT_STAGING)
    const signer = { STAGING: '1', SIGNER_DATABASE_URL: database.urls.signer }
    expect(await start(['start', 'signer'], signer)).toMatch(IS_NOT_STAGING)
  })

  test('that its owner has not started on opens to no role, of either kind', async () => {
    for (const STAGING of ['1', '0'])
      for (const role of ['api', 'watcher', 'delivery', 'signer'] as const) {
        const name = `${role.toUpperCase()}_DATABASE_URL`
        const told = await start(['start', role], { STAGING, [name]: database.urls[role] })
        expect(told).toMatch(new RegExp(`^paylink: ${name} .* its owner has not started on yet: run paylink`))
      }
    const { rows } = await database.owner.query('select from installation')
    expect(rows).toEqual([])
  })

  test('at whose first start both kinds begin at once becomes one, and refuses the other', async () => {
    const outcomes = await Promise.all(['0', '1', '0', '1'].map((STAGING) => asOwner(STAGING, 'migrate')))
    const { rows } = await database.owner.query<{ staging: boolean }>('select staging from installation')
    const [staging] = rows.map((row) => row.staging)
    const refused = expect.stringMatching(staging ? IS_STAGING : IS_NOT_STAGING)
    expect(outcomes).toEqual(
      staging ? [refused, 'runs', refused, 'runs'] : ['runs', refused, 'runs', refused],
    )
  })
})

describe('a data folder', () => {
  let place: Awaited<ReturnType<typeof makeDataDir>>
  beforeEach(async () => {
    place = await makeDataDir()
    closing.push(place.remove)
  })
  const run = async (STAGING: string, args: readonly string[]) => {
    const database = await createTestDatabase()
    closing.push(() => database.drop())
    await database.owner.query('delete from installation')
    const env = { STAGING, DATABASE_URL: database.ownerUrl, DATA_DIR: place.dataDir }
    const { code, stderr } = await runProgram(args, env)
    return code === 0 ? 'runs' : stderr
  }
  const isStaging = /^paylink: DATA_DIR .* is a staging installation's: set STAGING=1, or give another folder/
  const isNotStaging =
    /^paylink: DATA_DIR .* is not for staging, and STAGING is 1: give staging a folder of its/

  test('serves the kind that first started in it, whatever database is given', async () => {
    expect(await run('1', ['migrate'])).toBe('runs')
    expect(await run('0', ['migrate'])).toMatch(isStaging)
    expect(await run('0', ['start'])).toMatch(isStaging)
    expect(await run('0', ['signer', 'init'])).toMatch(isStaging)
    expect(await run('1', ['migrate'])).toBe('runs')
  })

  test('of an earlier release is of the kind whose seed it holds', async () => {
    await mkdir(join(place.dataDir, 'signer'), { recursive: true })
    await writeFile(join(place.dataDir, 'signer', 'seed.json'), '{}')
    expect(await run('1', ['start'])).toMatch(isNotStaging)
    expect(await run('1', ['migrate'])).toMatch(isNotStaging)
    expect(await run('0', ['migrate'])).toBe('runs')
  })

  test('whose database was refused is not marked', async () => {
    const live = await createTestDatabase()
    closing.push(() => live.drop())
    const env = { STAGING: '1', DATABASE_URL: live.ownerUrl, DATA_DIR: place.dataDir }
    expect((await runProgram(['migrate'], env)).stderr).toMatch(IS_NOT_STAGING)
    expect(await run('0', ['migrate'])).toBe('runs')
  })
})

/** A server that answers JSON-RPC, or by path, with what it is given. */
async function answering(answers: { readonly [asked: string]: unknown }): Promise<string> {
  const server = createServer(async (request, response) => {
    const chunks: Uint8Array[] = []
    for await (const chunk of request) chunks.push(chunk)
    const body = Buffer.concat(chunks).toString()
    if (body === '') return void response.end(String(answers[request.url ?? '']))
    const { id, method } = JSON.parse(body) as { id: number; method: string }
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ jsonrpc: '2.0', id, result: answers[method] }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closing.push(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  const address = server.address()
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`
}

/** Why a node is not taken, or the name of its chain. */
async function outcome(adapter: UtxoAdapter | EsploraAdapter | EvmAdapter | SolanaAdapter): Promise<string> {
  closing.push(() => adapter.close())
  return adapter.connect().then(
    ({ parameters }) => parameters,
    (error: Error) => error.message,
  )
}

const genesisOf = (chain: UtxoChain, name: string) =>
  UTXO_PARAMETERS.find((one) => one.chain === chain && one.name === name)?.genesisHash ?? ''

describe.each(['bitcoin', 'litecoin'] as const)('a node of %s', (chain) => {
  const nodeOf = async (name: string, genesis: string | null) => {
    const info = { chain: name, blocks: 9, headers: 9, bestblockhash: genesisOf(chain, 'regtest') }
    const rpcUrl = await answering({
      getblockchaininfo: info,
      getblockhash: genesisOf(chain, name === 'staging' ? 'regtest' : name),
    })
    const privateChain = genesis === null ? null : { genesis, chainId: null }
    const common = { chain, livemode: true, privateChain, clock: systemClock }
    return outcome(new UtxoAdapter({ ...common, rpcUrl, rpcSetting: 'IT', zmqUrl: null }))
  }
  const own = genesisOf(chain, 'regtest')

  test('serves staging on the private chain that was named, and on no other chain', async () => {
    expect(await nodeOf('regtest', own)).toBe('staging')
    expect(await nodeOf('regtest', 'ab'.repeat(32))).toMatch(/its genesis block is/)
    expect(await nodeOf('main', genesisOf(chain, 'main'))).toMatch(/for staging and .* on the chain "main"/)
    expect(await nodeOf('test', genesisOf(chain, 'test'))).toMatch(/for staging and .* on the chain "test"/)
  })

  test('on a private chain serves no live money, whatever it calls its chain', async () => {
    expect(await nodeOf('regtest', null)).toMatch(/for live money and .* on the chain "regtest"/)
    expect(await nodeOf('staging', null)).toMatch(/for live money and .* on the chain "staging"/)
  })

  test('asked by Esplora follows the same rules', async () => {
    const at = async (name: string, genesis: string | null) => {
      const tip = { id: own, height: 1, version: 1, timestamp: 1, mediantime: 1, previousblockhash: own }
      const url = await answering({
        '/block-height/0': genesisOf(chain, name),
        '/blocks/tip/hash': own,
        [`/block/${own}`]: JSON.stringify(tip),
      })
      const privateChain = genesis === null ? null : { genesis, chainId: null }
      const common = { chain, livemode: true, privateChain, clock: systemClock }
      return outcome(new EsploraAdapter({ ...common, url: `esplora+${url}`, setting: 'IT' }))
    }
    expect(await at('regtest', null)).toMatch(/for live money/)
    expect(await at('main', genesisOf(chain, 'main'))).toMatch(
      /for staging and its Esplora server is on the chain "main"/,
    )
    expect(await at('regtest', 'ab'.repeat(32))).toMatch(/its genesis block is/)
  })
})

describe('a node of Base', () => {
  const nodeOf = async (chainId: number, named: { chainId: number; genesis?: string } | null) => {
    const anvil = await startAnvil({ chainId })
    closing.push(() => anvil.remove())
    const { hash } = await anvil.rpc<{ hash: string }>('eth_getBlockByNumber', ['0x0', false])
    const privateChain = named === null ? null : { genesis: hash, ...named }
    const common = { chain: 'base', livemode: true, privateChain, tokenContracts: {} } as const
    return outcome(new EvmAdapter({ ...common, url: anvil.url, setting: 'IT', clock: systemClock }))
  }

  test('serves staging on the private chain that was named, and on no other chain', async () => {
    expect(await nodeOf(41_338, { chainId: 41_338 })).toBe('staging')
    expect(await nodeOf(41_338, { chainId: 41_339 })).toMatch(/on chain 41338, and base-live is chain 41339/)
    expect(await nodeOf(41_338, { chainId: 41_338, genesis: '0x00' })).toMatch(
      /not the one named for staging/,
    )
  })

  test('with the id of a public chain serves no staging: signatures for it are good there', async () => {
    for (const chainId of [8_453, 84_532, 1]) expect(await nodeOf(chainId, { chainId })).toMatch(/correct IT/)
  })

  test('on a private chain serves no live money', async () => {
    expect(await nodeOf(41_338, null)).toMatch(/on chain 41338, and base-live is chain 8453/)
  })
})

test('a node of Solana serves staging on the cluster that was named, and on no public one', async () => {
  const mainnet = '5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d'
  const devnet = 'EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxkrZBG'
  const own = '7XSvd7vcJ8X8dFtVAyt7GDJqrBn4mD2YQzbiQhSNNzL6'
  const nodeOf = async (genesis: string, named: string | null) => {
    const rpcUrl = await answering({ getGenesisHash: genesis, getHealth: 'ok' })
    const privateChain = named === null ? null : { genesis: named, chainId: null }
    const common = { livemode: true, privateChain, clock: systemClock }
    return outcome(new SolanaAdapter({ ...common, rpcUrl, rpcSetting: 'IT' }))
  }
  expect(await nodeOf(own, own)).toBe('localnet')
  expect(await nodeOf(own, devnet)).toMatch(/for staging and its node is on another cluster/)
  expect(await nodeOf(mainnet, mainnet)).toMatch(/for staging and its node is on mainnet-beta/)
  expect(await nodeOf(devnet, devnet)).toMatch(/for staging and its node is on devnet/)
  expect(await nodeOf(own, null)).toMatch(/for live money/)
})
