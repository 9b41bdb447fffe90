import { HDKey } from '@scure/bip32'
import { mnemonicToSeedSync } from '@scure/bip39'
import { expect, test } from 'vitest'
import { encodeEvmAddress, evmAddressOf, parseEvmAddress } from '../../src/chain/evm/address.ts'
import { receiveEvmAddresses } from '../../src/chain/evm/receive-addresses.ts'
import { openAccountsOf } from '../../src/signer/derive.ts'

// EIP-55, "Test Cases".
const EIP55 = [
  '0x52908400098527886E0F7030069857D2E4169EE7',
  '0x8617E340B3D01FA5F11F306F4090FD50E238070D',
  '0xde709f2102306220921060314715629080e2fb77',
  '0x27b1fdb04752bbc536007a920d24acb045561c26',
  '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
  '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359',
  '0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB',
  '0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb',
]

test('the test cases of EIP-55 come out, and each of their letters is checked', () => {
  for (const address of EIP55) {
    const addressBytes = Buffer.from(address.slice(2), 'hex')
    expect(encodeEvmAddress(addressBytes)).toBe(address)
    expect(Buffer.from(parseEvmAddress(address) ?? [])).toEqual(addressBytes)
    expect(parseEvmAddress(address.toLowerCase())).not.toBeNull()
    const digits = address.slice(2)
    if (digits === digits.toLowerCase() || digits === digits.toUpperCase()) continue
    for (const [place, digit] of [...digits].entries()) {
      const other = digit === digit.toLowerCase() ? digit.toUpperCase() : digit.toLowerCase()
      if (other === digit) continue
      expect(parseEvmAddress(`0x${digits.slice(0, place)}${other}${digits.slice(place + 1)}`)).toBeNull()
    }
  }
})

test('what is no address is refused', () => {
  for (const text of [
    '',
    '0x',
    `0x${'0'.repeat(39)}`,
    `0x${'0'.repeat(41)}`,
    '0'.repeat(40),
    `0x${'g'.repeat(40)}`,
  ]) {
    expect(parseEvmAddress(text)).toBeNull()
  }
  expect(() => encodeEvmAddress(new Uint8Array(21))).toThrow()
})

// The accounts that Hardhat, Foundry and Ganache print for these words.
const WORDS = 'test test test test test test test test test test test junk'
const WELL_KNOWN = [
  '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
  '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
  '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC',
  '0x90F79bf6EB2c4f870365E785982E1f101E93b906',
]

test('the published extended key of the live account gives the well-known addresses of its words', async () => {
  const account = (await openAccountsOf(WORDS)).accounts.find(({ keyspace }) => keyspace === 'evm-live')
  expect(account?.path).toBe("m/44'/60'/0'")
  const addressAt = receiveEvmAddresses(account?.xpub ?? '')
  expect(WELL_KNOWN.map((_, index) => encodeEvmAddress(addressAt(index)))).toEqual(WELL_KNOWN)
})

test('public derivation finds the address of the private key, for both modes', async () => {
  const master = HDKey.fromMasterSeed(mnemonicToSeedSync(WORDS))
  for (const account of (await openAccountsOf(WORDS)).accounts) {
    if (!account.keyspace.startsWith('evm-')) continue
    const addressAt = receiveEvmAddresses(account.xpub ?? '')
    for (const index of [0, 5, 1_000_000]) {
      const key = master.derive(`${account.path}/0/${index}`)
      expect(addressAt(index)).toEqual(evmAddressOf(key.publicKey ?? new Uint8Array()))
    }
  }
})
