import { expect, test } from 'vitest'
import { nameProviders } from './open-provider.ts'

const named = (urls: readonly string[]) => urls.map(nameProviders(urls))

test('providers are named by host and port, without what their URLs hold of secrets', () => {
  expect(
    named(['http://user:secret@node.internal:8332/wallet/secret', 'esplora+https://chain.example/KEY']),
  ).toEqual(['node.internal:8332', 'Esplora chain.example'])
})

test('two providers through one reader, and two accounts at one host, have names of their own', () => {
  const reader = 'http://cell-3:token@10.0.0.5:8555/ethereum-live'
  expect(named([`${reader}/0`, 'https://eth.example/KEY', `${reader}/1`])).toEqual([
    '10.0.0.5:8555 (URL 1)',
    'eth.example',
    '10.0.0.5:8555 (URL 3)',
  ])
  expect(named(['https://eth.example/KEY', 'https://eth.example/OTHER'])).toEqual([
    'eth.example (URL 1)',
    'eth.example (URL 2)',
  ])
})
