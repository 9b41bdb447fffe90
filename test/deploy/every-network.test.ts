import { expect, test } from 'vitest'
import { ASSET_IDS, ASSETS, tokensOf } from '../../src/core/assets.ts'
import { EVM_CHAINS, isEvmChain } from '../../src/core/chain/evm-networks.ts'
import { coinMark } from '../../src/web/checkout/coin-mark.tsx'
import { readRootFile } from '../support/root-file.ts'

/** Files outside the program that a new network needs a line in, by which of its variables they name. */
const FILES = {
  'compose.yaml': /./,
  'docs/operating.md': /_(RPC_URL|CHAIN_ID|ADDRESS)$/,
  'deploy/make-env.sh': /^LIVE_\w+_RPC_URL$/,
  'deploy/startos/startos/settings.ts': /^LIVE_\w+_RPC_URL$/,
  'deploy/startos/startos/actions.ts': /^LIVE_\w+_RPC_URL$/,
} as const

test('what a network of the registry still lacks by hand is named, file by file', async () => {
  const variables = EVM_CHAINS.flatMap((chain) => {
    const [live, own] = [`LIVE_${chain.toUpperCase()}`, `TEST_${chain.toUpperCase()}`]
    const tokens = tokensOf(chain).map((token) => `${ASSETS[token].symbol}_ADDRESS`)
    const either = ['RPC_URL', ...tokens].flatMap((name) => [`${live}_${name}`, `${own}_${name}`])
    return [...either, `${live}_GENESIS`, `${live}_CHAIN_ID`]
  })
  const missing: string[] = []
  for (const [path, names] of Object.entries(FILES)) {
    const text = await readRootFile(path)
    for (const variable of variables.filter((name) => names.test(name)))
      if (!text.includes(variable)) missing.push(`${path}: ${variable}`)
  }
  expect(missing).toEqual([])
})

test('every asset of the registry has a mark, and every one of an EVM network stands in its guide', async () => {
  const guide = await readRootFile('docs/ethereum-and-base.md')
  const isUndrawn = (id: (typeof ASSET_IDS)[number]) => coinMark(id) === ''
  const isUntold = (id: (typeof ASSET_IDS)[number]) =>
    isEvmChain(ASSETS[id].chain) && !guide.includes(`\`${id}\``) && !guide.includes(`"${id}"`)
  expect([ASSET_IDS.filter(isUndrawn), ASSET_IDS.filter(isUntold)]).toEqual([[], []])
})
