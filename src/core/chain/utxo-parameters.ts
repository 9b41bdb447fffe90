import type { WorkRules } from './header-work.ts'
import type { Realm } from './realm.ts'

/** Bitcoin and the chains made like it, as data: what differs between them is here and nowhere else. */
export type UtxoChain = 'bitcoin' | 'litecoin'

export type UtxoParameters = {
  readonly chain: UtxoChain
  /** The name a node gives to its chain in `getblockchaininfo`; `staging` is a `regtest` in the place of `main`. */
  readonly name: 'main' | 'test' | 'testnet4' | 'signet' | 'regtest' | 'staging'
  readonly livemode: boolean
  /** Human-readable part of segwit addresses (BIP173, BIP350). */
  readonly hrp: string
  readonly genesisHash: string
  /** A private chain: blocks come when asked for, nobody else is on it, and its tip may be of any age. */
  readonly isolated: boolean
  /** A head that is older is not the chain's; null on a private chain. */
  readonly headAgeMsMax: number | null
  /** What is asked of a header that no node of ours has checked. */
  readonly work: WorkRules
}

/**
 * Eighteen times the time between two blocks: a chain makes none for so long once in a thousand years. What a node
 * says of its own state and peers shows a stalled one sooner.
 */
const BITCOIN_HEAD_MS = 3 * 3_600_000
const LITECOIN_HEAD_MS = 45 * 60_000

/**
 * `powLimit` and `fPowAllowMinDifficultyBlocks` of Bitcoin Core's `src/kernel/chainparams.cpp` and Litecoin's
 * `src/chainparams.cpp`. The least work is what a block took on average since the first one: `nMinimumChainWork`
 * through the height at which both state it (`defaultAssumeValid`). Blocks have taken far
 * more for years, so an invented one is dear, and honest ones pass until the hash rate falls back by as long.
 * https://github.com/bitcoin/bitcoin/blob/0083e015e84020d29cad18de1e19f44f2029a275/src/kernel/chainparams.cpp
 * https://github.com/litecoin-project/litecoin/blob/17f16cef406cb3fdc14e25070f480298128254de/src/chainparams.cpp
 */
const limit = (zeroBits: bigint): bigint => (1n << (256n - zeroBits)) - 1n
const BITCOIN_WORK: WorkRules = {
  powLimit: limit(32n),
  allowsEasyBlocks: false,
  leastWork: 0x63c4ebd298db40af57541800n / 824_000n,
}
const LITECOIN_WORK: WorkRules = {
  powLimit: limit(20n),
  allowsEasyBlocks: false,
  leastWork: 0x146878abee06fa883e0an / 2_772_730n,
}
const asTestnet = (work: WorkRules): WorkRules => ({ ...work, allowsEasyBlocks: true, leastWork: null })
/** Miners of a signet sign their blocks, which is not checked: its work is all that there is. */
const SIGNET_WORK: WorkRules = { powLimit: 0x377aen << 216n, allowsEasyBlocks: false, leastWork: null }
const REGTEST_WORK: WorkRules = { powLimit: limit(1n), allowsEasyBlocks: true, leastWork: null }

/** A coinbase can be spent in the hundredth block after its own (COINBASE_MATURITY). */
export const COINBASE_CONFIRMATIONS = 100
/** A peg-out from Litecoin's extension block can be spent in the sixth block after its own (LIP-0002). */
export const PEG_OUT_CONFIRMATIONS = 6

/** A fork that leaves our chain deeper than this is no reorganisation that any chain of ours has seen. */
export const REORG_DEPTH_MAX = 100

const CHAINS: readonly UtxoParameters[] = [
  {
    chain: 'bitcoin',
    name: 'main',
    livemode: true,
    hrp: 'bc',
    genesisHash: '000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f',
    isolated: false,
    headAgeMsMax: BITCOIN_HEAD_MS,
    work: BITCOIN_WORK,
  },
  {
    chain: 'bitcoin',
    name: 'test',
    livemode: false,
    hrp: 'tb',
    genesisHash: '000000000933ea01ad0ee984209779baaec3ced90fa3f408719526f8d77f4943',
    isolated: false,
    headAgeMsMax: BITCOIN_HEAD_MS,
    work: asTestnet(BITCOIN_WORK),
  },
  {
    // BIP94.
    chain: 'bitcoin',
    name: 'testnet4',
    livemode: false,
    hrp: 'tb',
    genesisHash: '00000000da84f2bafbbc53dee25a72ae507ff4914b867c565be350b0da8bf043',
    isolated: false,
    headAgeMsMax: BITCOIN_HEAD_MS,
    work: asTestnet(BITCOIN_WORK),
  },
  {
    // BIP325, the default signet.
    chain: 'bitcoin',
    name: 'signet',
    livemode: false,
    hrp: 'tb',
    genesisHash: '00000008819873e925422c1ff0f99f7cc9bbb232af63a077a480a3633bee1ef6',
    isolated: false,
    headAgeMsMax: BITCOIN_HEAD_MS,
    work: SIGNET_WORK,
  },
  {
    chain: 'bitcoin',
    name: 'regtest',
    livemode: false,
    hrp: 'bcrt',
    genesisHash: '0f9188f13cb7b2c71f2a335e3a4fc328bf5beb436012afca590b1a11466e2206',
    isolated: true,
    headAgeMsMax: null,
    work: REGTEST_WORK,
  },
  {
    chain: 'litecoin',
    name: 'main',
    livemode: true,
    hrp: 'ltc',
    genesisHash: '12a765e31ffd4059bada1e25190f6e98c99d9714d334efa41a195a7e7e04bfe2',
    isolated: false,
    headAgeMsMax: LITECOIN_HEAD_MS,
    work: LITECOIN_WORK,
  },
  {
    chain: 'litecoin',
    name: 'test',
    livemode: false,
    hrp: 'tltc',
    genesisHash: '4966625a4b2851d9fdee139e56211a0d88575f59ed816ff5e6a63deb4e3e29a0',
    isolated: false,
    headAgeMsMax: LITECOIN_HEAD_MS,
    work: asTestnet(LITECOIN_WORK),
  },
  {
    chain: 'litecoin',
    name: 'regtest',
    livemode: false,
    hrp: 'rltc',
    genesisHash: '530827f38f93b43ed12af0b3ad25a288dc02ed74d6d7857862df51fc56c416f9',
    isolated: true,
    headAgeMsMax: null,
    work: REGTEST_WORK,
  },
]

export const UTXO_PARAMETERS: readonly UtxoParameters[] = CHAINS.flatMap((parameters) =>
  parameters.name === 'regtest'
    ? [parameters, { ...parameters, name: 'staging', livemode: true }]
    : [parameters],
)

/** The parameters of a chain by their name, or null where Paylink does not know them. */
export function utxoParametersOf(chain: UtxoChain, name: string): UtxoParameters | null {
  return UTXO_PARAMETERS.find((parameters) => parameters.chain === chain && parameters.name === name) ?? null
}

/** Whether a network of this realm may be on a chain. */
export const isInRealm = ({ name, livemode }: UtxoParameters, realm: Realm): boolean =>
  name === 'staging' ? realm === 'staging' : livemode === (realm === 'live') && realm !== 'staging'
