import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { EvmAdapter } from '../../src/chain/evm/evm-adapter.ts'
import { ASSETS, isToken, tokensOf } from '../../src/core/assets.ts'
import { EVM_CHAINS } from '../../src/core/chain/evm-networks.ts'
import { inspectNetworks } from '../../src/doctor/inspect-networks.ts'
import { rpcSettingOf } from '../../src/nodes/chain-nodes.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { type Anvil, newEvmAddress, startAnvil } from '../support/anvil.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import {
  callData,
  deployTestToken,
  putBefore,
  type TestToken,
  type UPGRADES,
  upgradeToken,
} from '../support/evm-contracts.ts'

const AMOUNT = 10_000_000n
const TOKENS = EVM_CHAINS.flatMap((chain) => tokensOf(chain).map((asset) => ({ asset, chain })))

let anvil: Anvil
let database: TestDatabase
beforeAll(async () => {
  anvil = await startAnvil()
  database = await createTestDatabase()
})
afterAll(async () => {
  await database?.drop()
  await anvil?.remove()
})

describe.each(TOKENS)('$asset, which its issuer upgrades', ({ asset, chain }) => {
  const network = `${chain}-test` as const
  const { symbol } = ASSETS[asset]
  let token: TestToken
  let buyer: string
  beforeAll(async () => {
    token = await deployTestToken(anvil)
    await putBefore(anvil, token.contract, 'UpgradedToken')
    buyer = (await anvil.rpc<string[]>('eth_accounts')).at(-1) ?? ''
    await anvil.send(token.mint(buyer, 10n * AMOUNT))
    await anvil.mine(1)
  })
  const upgrade = (kind: keyof typeof UPGRADES) => upgradeToken(anvil, token.contract, kind)
  const tokenContracts = () => ({ [symbol]: token.contract })
  const node = () => ({
    ...{ network, chain, livemode: false, rpcUrl: anvil.url, furtherUrls: [], zmqUrl: null, sandbox: null },
    ...{ rpcSetting: rpcSettingOf(network), tokenContracts: tokenContracts() },
  })
  const open = () => {
    const place = { chain, livemode: false, url: anvil.url, setting: rpcSettingOf(network) }
    return new EvmAdapter({ ...place, clock: systemClock, tokenContracts: tokenContracts() })
  }
  const transferTo = (to: string, contract = token.contract) =>
    anvil.rpc<string>('eth_sendTransaction', [
      { from: buyer, to: contract, data: callData('transfer(address,uint256)', to, AMOUNT) },
    ])

  test('halts its network where it says other decimals, and the doctor names that and another name', async () => {
    const doctorSays = async (kind: keyof typeof UPGRADES) => {
      await upgrade(kind)
      const findings = await inspectNetworks(database.owner, [node()], systemClock)
      return findings.map((finding) => `${finding.kind}: ${finding.text}`)
    }
    expect(await doctorSays('other name')).toContainEqual(
      expect.stringMatching(
        new RegExp(`^fault: .*${asset} at .* calls itself FAKE, has 6 decimals.*it is another token than`),
      ),
    )
    const isOther = new RegExp(`${asset} is the contract .* with 6 decimals, .* has 18 decimals`)
    expect(await doctorSays('other decimals')).toContainEqual(expect.stringMatching(isOther))
    const adapter = open()
    try {
      await expect(adapter.connect()).rejects.toThrow(isOther)
      await upgrade('none')
      expect((await adapter.connect()).health.status).toBe('ok')
    } finally {
      await adapter.close()
    }
  })

  test('credits what arrived: less a fee, nothing where it says no, nor for a token of its name', async () => {
    const sameName = await deployTestToken(anvil)
    const { address, addressBytes } = newEvmAddress()
    const adapter = open()
    try {
      adapter.watched.add([addressBytes])
      await adapter.connect()
      const from = await adapter.tip()
      await anvil.send(sameName.mint(buyer, AMOUNT))
      await anvil.mine(1)
      await upgrade('says no')
      await transferTo(address)
      await transferTo(address, sameName.contract)
      await anvil.mine(1)
      await upgrade('fee')
      const txid = await transferTo(address)
      await anvil.mine(1)
      await upgrade('none')
      const update = await adapter.nextUpdate(from, 50)
      expect(update?.blocks.flatMap(({ transfers }) => transfers)).toMatchObject([
        { txid, asset, amount: (AMOUNT * 99n) / 100n },
      ])
    } finally {
      await adapter.close()
    }
  })
})

test('every token of an EVM network is one of these', () => {
  const all = Object.values(ASSETS).filter(({ id, keyFamily }) => keyFamily === 'evm' && isToken(id))
  expect(TOKENS.map(({ asset }) => asset).toSorted()).toEqual(all.map(({ id }) => id).toSorted())
})
