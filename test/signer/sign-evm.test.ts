import { randomBytes } from 'node:crypto'
import { HDKey } from '@scure/bip32'
import {
  keccak256,
  parseTransaction,
  recoverTransactionAddress,
  recoverTypedDataAddress,
  serializeSignature,
} from 'viem'
import { decodeFunctionData } from 'viem/utils'
import { expect, test } from 'vitest'
import { encodeEvmAddress } from '../../src/chain/evm/address.ts'
import { hotWalletOf } from '../../src/chain/evm/hot-wallet.ts'
import { receiveEvmAddresses } from '../../src/chain/evm/receive-addresses.ts'
import {
  depositAddress,
  hotWalletAddress,
  signFromHotWallet,
  signSweep,
  tokenSweepCall,
} from '../../src/payouts/sign/evm/sign-evm.ts'
import { seededRandom } from '../support/random.ts'
import { TEST_USDC_ABI } from '../support/test-usdc-abi.ts'

const account = HDKey.fromMasterSeed(randomBytes(32)).derive("m/44'/60'/1'")
const hexOf = (bytes: Uint8Array): `0x${string}` => `0x${Buffer.from(bytes).toString('hex')}`

test('the addresses that the signer spends from are those derived from its public key', () => {
  const xpub = account.publicExtendedKey
  expect(hotWalletAddress(account)).toEqual(hotWalletOf(xpub))
  for (const index of [0, 1, 77])
    expect(depositAddress(account, index)).toEqual(receiveEvmAddresses(xpub)(index))
})

test('another implementation reads every transaction that is signed as it was meant, from whom it is', async () => {
  const random = seededRandom(20_261_121)
  for (let run = 0; run < 60; run++) {
    const terms = {
      chainId: BigInt(random.pick([1, 8_453, 31_337])),
      nonce: BigInt(random.pick([0, 1, 127, 128, 255, 256, 70_000])),
      maxPriorityFeePerGas: BigInt(random.below(2 ** 30)),
      maxFeePerGas: BigInt(random.below(2 ** 30)) + 2n ** 30n,
      gas: BigInt(21_000 + random.below(200_000)),
      value: BigInt(random.below(2 ** 30)) * BigInt(random.below(2 ** 30)),
    }
    const to = Uint8Array.from({ length: 20 }, () => random.below(256))
    const data = Uint8Array.from({ length: random.pick([0, 1, 55, 56, 68, 300]) }, () => random.below(256))
    const index = random.below(1_000)
    const signed = [
      { ...signFromHotWallet(account, { ...terms, to, data }), from: hotWalletAddress(account), to, data },
      {
        ...signSweep(account, index, terms),
        from: depositAddress(account, index),
        to: hotWalletAddress(account),
        data: null,
      },
    ]
    for (const { raw, txid, from, to: paid, data: sent } of signed) {
      const serialized = hexOf(raw) as `0x02${string}`
      const read = parseTransaction(serialized)
      expect(keccak256(serialized)).toBe(txid)
      expect(await recoverTransactionAddress({ serializedTransaction: serialized })).toBe(
        encodeEvmAddress(from),
      )
      expect({ ...read, to: read.to?.toLowerCase() }).toMatchObject({
        type: 'eip1559',
        to: hexOf(paid),
        chainId: Number(terms.chainId),
      })
      expect(BigInt(read.nonce ?? 0)).toBe(terms.nonce)
      expect(read.value ?? 0n).toBe(terms.value)
      expect(read.maxFeePerGas).toBe(terms.maxFeePerGas)
      expect(read.maxPriorityFeePerGas ?? 0n).toBe(terms.maxPriorityFeePerGas)
      expect(read.data ?? '0x').toBe(sent === null ? '0x' : hexOf(sent))
    }
  }
})

test("a deposit address's signature fetches a token, over EIP-712 data that another library hashes alike", async () => {
  const contract = randomBytes(20)
  const domain = { name: 'USD Coin', version: '2', chainId: 8_453n, contract }
  const call = tokenSweepCall(account, { id: 'swp_x', index: 5, value: 1_234_567n }, domain)
  const { functionName, args } = decodeFunctionData({ abi: TEST_USDC_ABI, data: hexOf(call) })
  expect(functionName).toBe('receiveWithAuthorization')
  const [from, to, value, validAfter, validBefore, nonce, v, r, s] = args as readonly [
    `0x${string}`,
    `0x${string}`,
    bigint,
    bigint,
    bigint,
    `0x${string}`,
    number,
    `0x${string}`,
    `0x${string}`,
  ]
  expect(to).toBe(encodeEvmAddress(hotWalletAddress(account)))
  expect(value).toBe(1_234_567n)
  const field = (name: string, type: string) => ({ name, type })
  const signer = await recoverTypedDataAddress({
    domain: { name: 'USD Coin', version: '2', chainId: 8_453, verifyingContract: hexOf(contract) },
    types: {
      ReceiveWithAuthorization: [
        field('from', 'address'),
        field('to', 'address'),
        field('value', 'uint256'),
        field('validAfter', 'uint256'),
        field('validBefore', 'uint256'),
        field('nonce', 'bytes32'),
      ],
    },
    primaryType: 'ReceiveWithAuthorization',
    message: { from, to, value, validAfter, validBefore, nonce },
    signature: serializeSignature({ r, s, yParity: v - 27 }),
  })
  expect(signer).toBe(from)
  expect(signer).toBe(encodeEvmAddress(depositAddress(account, 5)))
})
