import { scryptSync } from 'node:crypto'
import { sha256d } from './encoding.ts'

export type SandboxChainName = 'bitcoin' | 'litecoin'

/**
 * Parameters of a regtest chain, as data. Consensus is Bitcoin Core's on regtest, with two differences: the
 * first block pays the sandbox wallet a premine, and every later one claims neither subsidy nor fees.
 */
export type ChainParameters = {
  readonly chain: SandboxChainName
  readonly subversion: string
  readonly version: number
  /** Human-readable part of segwit addresses (BIP173). */
  readonly hrp: string
  /** The chain's own regtest genesis block. */
  readonly genesisBlock: Buffer
  /** Outputs that the first block gives the wallet; many, so that many payments can be made at once. */
  readonly premine: { readonly outputs: number; readonly amountEach: bigint }
  /** The most that can ever exist, in base units. */
  readonly maxMoney: bigint
  /** The hash that must lie below the target, in the byte order of the wire. */
  proofOfWork(header: Uint8Array): Uint8Array
}

const COIN = 100_000_000n
/** Bits of regtest: half of all hashes will do. */
export const REGTEST_BITS = 0x207fffff
/** Expected hashes for a block with these bits, which is what a chain's work sums. */
export const WORK_PER_BLOCK = 2n
/** Blocks after which a coinbase can be spent. */
export const COINBASE_MATURITY = 100

const GENESIS_BITCOIN =
  '0100000000000000000000000000000000000000000000000000000000000000000000003ba3edfd7a7b12b27ac72c3e67768f617f' +
  'c81bc3888a51323a9fb8aa4b1e5e4adae5494dffff7f20020000000101000000010000000000000000000000000000000000000000' +
  '000000000000000000000000ffffffff4d04ffff001d0104455468652054696d65732030332f4a616e2f32303039204368616e6365' +
  '6c6c6f72206f6e206272696e6b206f66207365636f6e64206261696c6f757420666f722062616e6b73ffffffff0100f2052a010000' +
  '00434104678afdb0fe5548271967f1a67130b7105cd6a828e03909a67962e0ea1f61deb649f6bc3f4cef38c4f35504e51ec112de5c' +
  '384df7ba0b8d578a4c702b6bf11d5fac00000000'
const GENESIS_LITECOIN =
  '010000000000000000000000000000000000000000000000000000000000000000000000d9ced4ed1130f7b7faad9be25323ffafa3' +
  '3232a17c3edf6cfd97bee6bafbdd97dae5494dffff7f20000000000101000000010000000000000000000000000000000000000000' +
  '000000000000000000000000ffffffff4804ffff001d0104404e592054696d65732030352f4f63742f32303131205374657665204a' +
  '6f62732c204170706c65e280997320566973696f6e6172792c2044696573206174203536ffffffff0100f2052a0100000043410401' +
  '84710fa689ad5023690c80f3a49c8f13f8d45b8c857fbcbc8bc4a8e4d3eb4b10f4d4604fa08dce601aaf0f470216fe1b51850b4acf' +
  '21b179c45070ac7b03a9ac00000000'

export const CHAIN_PARAMETERS: { readonly [name in SandboxChainName]: ChainParameters } = {
  bitcoin: {
    chain: 'bitcoin',
    subversion: '/PaylinkSandbox:0.1.0(bitcoin)/',
    version: 290_000,
    hrp: 'bcrt',
    genesisBlock: Buffer.from(GENESIS_BITCOIN, 'hex'),
    premine: { outputs: 400, amountEach: 50_000n * COIN },
    maxMoney: 21_000_000n * COIN,
    proofOfWork: (header) => sha256d(header),
  },
  litecoin: {
    chain: 'litecoin',
    subversion: '/PaylinkSandbox:0.1.0(litecoin)/',
    // A node below 0.21.5.8 earns a warning from `doctor`, which would be noise here.
    version: 210_508,
    hrp: 'rltc',
    genesisBlock: Buffer.from(GENESIS_LITECOIN, 'hex'),
    premine: { outputs: 400, amountEach: 200_000n * COIN },
    maxMoney: 84_000_000n * COIN,
    proofOfWork: (header) => scryptSync(header, header, 32, { N: 1024, r: 1, p: 1 }),
  },
}
