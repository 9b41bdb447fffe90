import { randomBytes } from 'node:crypto'
import { HDKey } from '@scure/bip32'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { encodeEvmAddress } from '../../src/chain/evm/address.ts'
import { CREATE2_DEPLOYER, collectCall, sweeperDeployment, sweeperOf } from '../../src/chain/evm/sweeper.ts'
import {
  depositAddress,
  hotWalletAddress,
  signFromHotWallet,
  signSweeperDelegation,
} from '../../src/payouts/sign/evm/sign-evm.ts'
import { bytecodeOf, callData } from '../support/evm-contracts.ts'
import { type DrivenAnvil, evmDriver } from '../support/evm-driver.ts'
import { WatchedChain } from '../support/watched-chain.ts'

const ETHER = 10n ** 18n
const CHAIN_ID = 31_337n
const account = HDKey.fromMasterSeed(randomBytes(32)).derive("m/44'/60'/1'")
const hot = hotWalletAddress(account)
const DEPOSIT = depositAddress(account, 0)

describe.each(['traces', 'balances'] as const)('native coin read by %s', (nativeMode) => {
  let watched: WatchedChain<DrivenAnvil>
  beforeAll(async () => {
    watched = await WatchedChain.open(
      evmDriver('ETH', { nativeMode }, {}, () => ({
        address: encodeEvmAddress(DEPOSIT),
        addressBytes: Buffer.from(DEPOSIT),
      })),
    )
  })
  afterAll(() => watched.close())

  test('a sweep of a delegated address credits nobody, and ether paid to it afterwards is found', async () => {
    const { anvil, token } = watched.chain
    const watcher = await watched.watchAtTip()
    const invoice = await watched.openInvoice([watcher])
    const to = invoice.address
    const creditsOf = async (invoiceId: string) =>
      (
        await watched.database.owner.query(
          'select asset, amount from transfer where invoice_id = $1 order by asset',
          [invoiceId],
        )
      ).rows
    let nonce = 0n
    const send = async (called: Uint8Array, data: Uint8Array, isDelegated = false) => {
      const delegation = isDelegated
        ? signSweeperDelegation(account, 0, { chainId: CHAIN_ID, nonce: 0n })
        : undefined
      const fees = { maxFeePerGas: 10n ** 11n, maxPriorityFeePerGas: 10n ** 9n }
      const terms = { chainId: CHAIN_ID, nonce: nonce++, gas: 1_500_000n, value: 0n, ...fees }
      const { raw } = signFromHotWallet(account, { ...terms, to: called, data, delegation })
      await anvil.rpc('eth_sendRawTransaction', [`0x${raw.toString('hex')}`])
      await watched.chain.mine(1)
    }
    await anvil.send({ to: encodeEvmAddress(hot), value: 10n * ETHER })
    await anvil.send(token.mint(to, 500n))
    await watched.chain.mine(1)
    await send(CREATE2_DEPLOYER, sweeperDeployment(hot))
    const contract = Buffer.from(token.contract.slice(2), 'hex')
    await send(sweeperOf(hot), collectCall(contract, DEPOSIT, 500n), true)
    expect(await anvil.rpc<string>('eth_getCode', [to, 'latest'])).toContain('0xef0100')
    await watched.chain.mine(3)
    await watched.untilRead()
    // The token that was paid alone.
    expect(await creditsOf(invoice.id)).toEqual([{ asset: 'USDC_ETHEREUM', amount: 500n }])

    const payer = await anvil.deploy(await bytecodeOf('StipendPayer'))
    await anvil.send({
      to: payer,
      value: watched.driver.amount,
      data: callData('pay(address)', to),
      gas: 100_000,
    })
    await watched.chain.mine(3)
    await watched.untilStatus(invoice.id, 'paid')
    expect(await creditsOf(invoice.id)).toEqual([
      { asset: 'ETH', amount: watched.driver.amount },
      { asset: 'USDC_ETHEREUM', amount: 500n },
    ])
    expect(await watched.state()).toMatchObject({ status: 'ok' })
    await watched.stopWatchers()
  })
})
