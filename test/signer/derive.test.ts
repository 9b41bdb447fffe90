import { HDKey } from '@scure/bip32'
import { expect, test } from 'vitest'
import { RECEIVE_INDEX_MAX } from '../../src/chain/receive-keys.ts'
import { encodeAddress } from '../../src/chain/utxo/address.ts'
import { receiveAddresses } from '../../src/chain/utxo/receive-addresses.ts'
import { deriveNode, openAccountsOf, wordsOf } from '../../src/signer/derive.ts'

type Node = readonly [path: string, xpub: string, xprv: string]

// BIP32, "Test Vectors" 1 to 4.
const BIP32_VECTORS: readonly { readonly seed: string; readonly nodes: readonly Node[] }[] = [
  {
    seed: '000102030405060708090a0b0c0d0e0f',
    nodes: [
      [
        'm',
        'xpub661MyMwAqRbcFtXgS5sYJABqqG9YLmC4Q1Rdap9gSE8NqtwybGhePY2gZ29ESFjqJoCu1Rupje8YtGqsefD265TMg7usUDFdp6W1EGMcet8',
        'xprv9s21ZrQH143K3QTDL4LXw2F7HEK3wJUD2nW2nRk4stbPy6cq3jPPqjiChkVvvNKmPGJxWUtg6LnF5kejMRNNU3TGtRBeJgk33yuGBxrMPHi',
      ],
      [
        "m/0'",
        'xpub68Gmy5EdvgibQVfPdqkBBCHxA5htiqg55crXYuXoQRKfDBFA1WEjWgP6LHhwBZeNK1VTsfTFUHCdrfp1bgwQ9xv5ski8PX9rL2dZXvgGDnw',
        'xprv9uHRZZhk6KAJC1avXpDAp4MDc3sQKNxDiPvvkX8Br5ngLNv1TxvUxt4cV1rGL5hj6KCesnDYUhd7oWgT11eZG7XnxHrnYeSvkzY7d2bhkJ7',
      ],
      [
        "m/0'/1",
        'xpub6ASuArnXKPbfEwhqN6e3mwBcDTgzisQN1wXN9BJcM47sSikHjJf3UFHKkNAWbWMiGj7Wf5uMash7SyYq527Hqck2AxYysAA7xmALppuCkwQ',
        'xprv9wTYmMFdV23N2TdNG573QoEsfRrWKQgWeibmLntzniatZvR9BmLnvSxqu53Kw1UmYPxLgboyZQaXwTCg8MSY3H2EU4pWcQDnRnrVA1xe8fs',
      ],
      [
        "m/0'/1/2'",
        'xpub6D4BDPcP2GT577Vvch3R8wDkScZWzQzMMUm3PWbmWvVJrZwQY4VUNgqFJPMM3No2dFDFGTsxxpG5uJh7n7epu4trkrX7x7DogT5Uv6fcLW5',
        'xprv9z4pot5VBttmtdRTWfWQmoH1taj2axGVzFqSb8C9xaxKymcFzXBDptWmT7FwuEzG3ryjH4ktypQSAewRiNMjANTtpgP4mLTj34bhnZX7UiM',
      ],
      [
        "m/0'/1/2'/2",
        'xpub6FHa3pjLCk84BayeJxFW2SP4XRrFd1JYnxeLeU8EqN3vDfZmbqBqaGJAyiLjTAwm6ZLRQUMv1ZACTj37sR62cfN7fe5JnJ7dh8zL4fiyLHV',
        'xprvA2JDeKCSNNZky6uBCviVfJSKyQ1mDYahRjijr5idH2WwLsEd4Hsb2Tyh8RfQMuPh7f7RtyzTtdrbdqqsunu5Mm3wDvUAKRHSC34sJ7in334',
      ],
      [
        "m/0'/1/2'/2/1000000000",
        'xpub6H1LXWLaKsWFhvm6RVpEL9P4KfRZSW7abD2ttkWP3SSQvnyA8FSVqNTEcYFgJS2UaFcxupHiYkro49S8yGasTvXEYBVPamhGW6cFJodrTHy',
        'xprvA41z7zogVVwxVSgdKUHDy1SKmdb533PjDz7J6N6mV6uS3ze1ai8FHa8kmHScGpWmj4WggLyQjgPie1rFSruoUihUZREPSL39UNdE3BBDu76',
      ],
    ],
  },
  {
    seed: 'fffcf9f6f3f0edeae7e4e1dedbd8d5d2cfccc9c6c3c0bdbab7b4b1aeaba8a5a29f9c999693908d8a8784817e7b7875726f6c696663605d5a5754514e4b484542',
    nodes: [
      [
        'm',
        'xpub661MyMwAqRbcFW31YEwpkMuc5THy2PSt5bDMsktWQcFF8syAmRUapSCGu8ED9W6oDMSgv6Zz8idoc4a6mr8BDzTJY47LJhkJ8UB7WEGuduB',
        'xprv9s21ZrQH143K31xYSDQpPDxsXRTUcvj2iNHm5NUtrGiGG5e2DtALGdso3pGz6ssrdK4PFmM8NSpSBHNqPqm55Qn3LqFtT2emdEXVYsCzC2U',
      ],
      [
        'm/0',
        'xpub69H7F5d8KSRgmmdJg2KhpAK8SR3DjMwAdkxj3ZuxV27CprR9LgpeyGmXUbC6wb7ERfvrnKZjXoUmmDznezpbZb7ap6r1D3tgFxHmwMkQTPH',
        'xprv9vHkqa6EV4sPZHYqZznhT2NPtPCjKuDKGY38FBWLvgaDx45zo9WQRUT3dKYnjwih2yJD9mkrocEZXo1ex8G81dwSM1fwqWpWkeS3v86pgKt',
      ],
      [
        "m/0/2147483647'",
        'xpub6ASAVgeehLbnwdqV6UKMHVzgqAG8Gr6riv3Fxxpj8ksbH9ebxaEyBLZ85ySDhKiLDBrQSARLq1uNRts8RuJiHjaDMBU4Zn9h8LZNnBC5y4a',
        'xprv9wSp6B7kry3Vj9m1zSnLvN3xH8RdsPP1Mh7fAaR7aRLcQMKTR2vidYEeEg2mUCTAwCd6vnxVrcjfy2kRgVsFawNzmjuHc2YmYRmagcEPdU9',
      ],
      [
        "m/0/2147483647'/1",
        'xpub6DF8uhdarytz3FWdA8TvFSvvAh8dP3283MY7p2V4SeE2wyWmG5mg5EwVvmdMVCQcoNJxGoWaU9DCWh89LojfZ537wTfunKau47EL2dhHKon',
        'xprv9zFnWC6h2cLgpmSA46vutJzBcfJ8yaJGg8cX1e5StJh45BBciYTRXSd25UEPVuesF9yog62tGAQtHjXajPPdbRCHuWS6T8XA2ECKADdw4Ef',
      ],
      [
        "m/0/2147483647'/1/2147483646'",
        'xpub6ERApfZwUNrhLCkDtcHTcxd75RbzS1ed54G1LkBUHQVHQKqhMkhgbmJbZRkrgZw4koxb5JaHWkY4ALHY2grBGRjaDMzQLcgJvLJuZZvRcEL',
        'xprvA1RpRA33e1JQ7ifknakTFpgNXPmW2YvmhqLQYMmrj4xJXXWYpDPS3xz7iAxn8L39njGVyuoseXzU6rcxFLJ8HFsTjSyQbLYnMpCqE2VbFWc',
      ],
      [
        "m/0/2147483647'/1/2147483646'/2",
        'xpub6FnCn6nSzZAw5Tw7cgR9bi15UV96gLZhjDstkXXxvCLsUXBGXPdSnLFbdpq8p9HmGsApME5hQTZ3emM2rnY5agb9rXpVGyy3bdW6EEgAtqt',
        'xprvA2nrNbFZABcdryreWet9Ea4LvTJcGsqrMzxHx98MMrotbir7yrKCEXw7nadnHM8Dq38EGfSh6dqA9QWTyefMLEcBYJUuekgW4BYPJcr9E7j',
      ],
    ],
  },
  {
    // Leading zeros of a private key are kept.
    seed: '4b381541583be4423346c643850da4b320e46a87ae3d2a4e6da11eba819cd4acba45d239319ac14f863b8d5ab5a0d0c64d2e8a1e7d1457df2e5a3c51c73235be',
    nodes: [
      [
        'm',
        'xpub661MyMwAqRbcEZVB4dScxMAdx6d4nFc9nvyvH3v4gJL378CSRZiYmhRoP7mBy6gSPSCYk6SzXPTf3ND1cZAceL7SfJ1Z3GC8vBgp2epUt13',
        'xprv9s21ZrQH143K25QhxbucbDDuQ4naNntJRi4KUfWT7xo4EKsHt2QJDu7KXp1A3u7Bi1j8ph3EGsZ9Xvz9dGuVrtHHs7pXeTzjuxBrCmmhgC6',
      ],
      [
        "m/0'",
        'xpub68NZiKmJWnxxS6aaHmn81bvJeTESw724CRDs6HbuccFQN9Ku14VQrADWgqbhhTHBaohPX4CjNLf9fq9MYo6oDaPPLPxSb7gwQN3ih19Zm4Y',
        'xprv9uPDJpEQgRQfDcW7BkF7eTya6RPxXeJCqCJGHuCJ4GiRVLzkTXBAJMu2qaMWPrS7AANYqdq6vcBcBUdJCVVFceUvJFjaPdGZ2y9WACViL4L',
      ],
    ],
  },
  {
    // Leading zeros again, one level further down.
    seed: '3ddd5602285899a946114506157c7997e5444528f3003f6134712147db19b678',
    nodes: [
      [
        'm',
        'xpub661MyMwAqRbcGczjuMoRm6dXaLDEhW1u34gKenbeYqAix21mdUKJyuyu5F1rzYGVxyL6tmgBUAEPrEz92mBXjByMRiJdba9wpnN37RLLAXa',
        'xprv9s21ZrQH143K48vGoLGRPxgo2JNkJ3J3fqkirQC2zVdk5Dgd5w14S7fRDyHH4dWNHUgkvsvNDCkvAwcSHNAQwhwgNMgZhLtQC63zxwhQmRv',
      ],
      [
        "m/0'",
        'xpub69AUMk3qDBi3uW1sXgjCmVjJ2G6WQoYSnNHyzkmdCHEhSZ4tBok37xfFEqHd2AddP56Tqp4o56AePAgCjYdvpW2PU2jbUPFKsav5ut6Ch1m',
        'xprv9vB7xEWwNp9kh1wQRfCCQMnZUEG21LpbR9NPCNN1dwhiZkjjeGRnaALmPXCX7SgjFTiCTT6bXes17boXtjq3xLpcDjzEuGLQBM5ohqkao9G',
      ],
      [
        "m/0'/1'",
        'xpub6BJA1jSqiukeaesWfxe6sNK9CCGaujFFSJLomWHprUL9DePQ4JDkM5d88n49sMGJxrhpjazuXYWdMf17C9T5XnxkopaeS7jGk1GyyVziaMt',
        'xprv9xJocDuwtYCMNAo3Zw76WENQeAS6WGXQ55RCy7tDJ8oALr4FWkuVoHJeHVAcAqiZLE7Je3vZJHxspZdFHfnBEjHqU5hG1Jaj32dVoS6XLT1',
      ],
    ],
  },
]

for (const [number, vector] of BIP32_VECTORS.entries()) {
  test(`BIP32 test vector ${number + 1} comes out of our derivation`, () => {
    for (const [path, xpub, xprv] of vector.nodes) {
      const node = deriveNode(Buffer.from(vector.seed, 'hex'), path)
      expect(node.publicExtendedKey).toBe(xpub)
      expect(node.privateExtendedKey).toBe(xprv)
    }
  })
}

test('deriving a child from the public key gives what deriving it from the private key gives', () => {
  for (const { seed } of BIP32_VECTORS) {
    const account = deriveNode(Buffer.from(seed, 'hex'), "m/84'/2'/1'")
    const addressAt = receiveAddresses(account.publicExtendedKey)
    for (const index of [0, 1, 77, RECEIVE_INDEX_MAX]) {
      expect(addressAt(index)).toEqual(account.derive(`m/0/${index}`).pubKeyHash)
    }
  }
})

// BIP84, "Test vectors".
const WORDS = 'abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon about'
const ZPRV =
  'zprvAdG4iTXWBoARxkkzNpNh8r6Qag3irQB8PzEMkAFeTRXxHpbF9z4QgEvBRmfvqWvGp42t42nvgGpNgYSJA9iefm1yYNZKEm7z6qUWCroSQnE'
const ZPRV_VERSIONS = { private: 0x04b2430c, public: 0x04b24746 }

test('the BIP84 test vector comes out: words, account, and the first addresses from its public key alone', async () => {
  const { accounts } = await openAccountsOf(WORDS)
  const account = accounts.find((key) => key.keyspace === 'bitcoin-live')
  if (account?.xpub == null) throw new Error('no account')
  expect(account.path).toBe("m/84'/0'/0'")
  const published = HDKey.fromExtendedKey(account.xpub)
  const expected = HDKey.fromExtendedKey(ZPRV, ZPRV_VERSIONS)
  expect(published.publicKey).toEqual(expected.publicKey)
  expect(published.chainCode).toEqual(expected.chainCode)
  expect(published.privateKey).toBeNull()
  const addressAt = receiveAddresses(account.xpub)
  expect(encodeAddress('bc', addressAt(0))).toBe('bc1qcr8te4kr609gcawutmrza0j4xv80jy8z306fyu')
  expect(encodeAddress('bc', addressAt(1))).toBe('bc1qnjg0jd8228aq7egyzacy8cys3knf9xvrerkf9g')
})

test('every account has a path of its own, and live and test never share a key', async () => {
  const { accounts } = await openAccountsOf(WORDS)
  expect(accounts.map((key) => [key.keyspace, key.path])).toEqual([
    ['bitcoin-live', "m/84'/0'/0'"],
    ['bitcoin-test', "m/84'/0'/1'"],
    ['litecoin-live', "m/84'/2'/0'"],
    ['litecoin-test', "m/84'/2'/1'"],
    ['evm-live', "m/44'/60'/0'"],
    ['evm-test', "m/44'/60'/1'"],
    ['solana-live', "m/44'/501'"],
    ['solana-test', "m/44'/501'"],
  ])
  const xpubs = accounts.filter(({ xpub }) => xpub !== null).map(({ xpub }) => xpub)
  expect(new Set(xpubs).size).toBe(6)
  for (const xpub of xpubs) expect(xpub).toMatch(/^xpub/)
  const batchKeys = accounts.map(({ batchKey }) => Buffer.from(batchKey).toString('hex'))
  expect(new Set(batchKeys).size).toBe(accounts.length)
})

test('32 bytes of entropy are 24 words', () => {
  // BIP39, test vectors of its reference implementation.
  expect(wordsOf(new Uint8Array(32))).toBe(`${'abandon '.repeat(23)}art`)
})

test('an index beyond the non-hardened ones is refused', async () => {
  const addressAt = receiveAddresses((await openAccountsOf(WORDS)).accounts[0]?.xpub ?? '')
  for (const index of [-1, 0.5, RECEIVE_INDEX_MAX + 1, Number.NaN]) expect(() => addressAt(index)).toThrow()
})
