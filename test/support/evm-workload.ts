import { type Anvil, hex, newEvmAddress } from './anvil.ts'
import { type Argument, bytecodeOf, callData, deployTestToken, type TestToken } from './evm-contracts.ts'
import type { Random } from './random.ts'

/** What a block must be found to credit: address, asset, amount; in the native coin and in the one token that is money. */
export type Credit = {
  readonly addressBytes: string
  readonly asset: 'ETH_BASE' | 'USDC_BASE'
  readonly amount: bigint
}

const TRANSFERS_PER_BLOCK_MAX = 12
const GAS = 1_500_000
const DEPTH_MAX = 6
/** Wei: enough for the fee of a sweep. */
const SWEPT_FROM = 10n ** 16n

type Contracts = {
  readonly token: TestToken
  readonly sameSymbol: TestToken
  readonly withFee: TestToken
  readonly batch: string
  readonly wallet: string
}

/** Sends random transfers of every kind on a real node, reorganises it, and knows what each transaction must credit. */
export class EvmWorkload {
  readonly anvil: Anvil
  readonly contracts: Contracts
  readonly addresses: readonly Buffer[]
  /** What each transaction credits, wherever it is mined. */
  readonly expected = new Map<string, readonly Credit[]>()
  sent = 0
  /** Whether payments are large enough to be swept, and are. */
  sweepsToo = false
  sweeps = 0
  /** Of the addresses, the first ones are open; only those are paid. */
  opened = 20
  readonly #swept = new Set<string>()
  readonly #random: Random

  private constructor(anvil: Anvil, contracts: Contracts, random: Random) {
    this.anvil = anvil
    this.contracts = contracts
    this.#random = random
    this.addresses = Array.from({ length: 40 }, () => newEvmAddress().addressBytes)
  }

  static async start(anvil: Anvil, random: Random): Promise<EvmWorkload> {
    const contracts = {
      token: await deployTestToken(anvil),
      sameSymbol: await deployTestToken(anvil),
      withFee: await deployTestToken(anvil, 1_000n),
      batch: await anvil.deploy(await bytecodeOf('BatchPayer')),
      wallet: await anvil.deploy(await bytecodeOf('Wallet')),
    }
    await anvil.rpc('anvil_setBalance', [contracts.wallet, hex(10n ** 24n)])
    // Whoever sends holds tokens to send.
    const senders = await anvil.rpc<string[]>('eth_accounts')
    const held = senders.map(() => 10n ** 18n)
    for (const { contract } of [contracts.token, contracts.withFee]) {
      const data = callData('mintMany(address[],uint256[])', senders, held)
      await anvil.send({ to: contract, data, gas: 20_000_000 })
    }
    // No reorganisation takes the contracts back.
    await anvil.mine(1 + DEPTH_MAX)
    return new EvmWorkload(anvil, contracts, random)
  }

  /** One block of random transfers. */
  async block(): Promise<void> {
    const count = this.#random.below(TRANSFERS_PER_BLOCK_MAX + 1)
    for (let transfer = 0; transfer < count; transfer++) {
      const { call, credits } = await this.#random.pick(KINDS)(this)
      this.expected.set(await this.anvil.send({ gas: GAS, ...call }), credits)
      this.sent += 1
    }
    if (this.sweepsToo && this.#random.chance(0.3)) await this.#sweep()
    await this.anvil.mine(1)
    if (this.#random.chance(0.1)) this.opened = Math.min(this.opened + 1, this.addresses.length)
  }

  get open(): readonly Buffer[] {
    return this.addresses.slice(0, this.opened)
  }

  /** Sends part of what an open address holds elsewhere, now and then to another open one. */
  async #sweep(): Promise<void> {
    const from = `0x${this.addressBytes().toString('hex')}`
    const held = BigInt(await this.anvil.rpc<string>('eth_getBalance', [from, 'latest']))
    if (held < SWEPT_FROM) return
    const isBetweenOpen = this.#random.chance(0.3)
    const to = isBetweenOpen ? `0x${this.addressBytes().toString('hex')}` : newEvmAddress().address
    const amount = held / BigInt(2 + this.#random.below(4))
    await this.anvil.rpc('anvil_impersonateAccount', [from])
    const call = { from, to, value: hex(amount), gas: hex(21_000n) }
    const txid = await this.anvil.rpc<string>('eth_sendTransaction', [call])
    this.#swept.add(txid)
    this.sweeps += 1
    if (isBetweenOpen && to !== from) this.expected.set(txid, [ether(to.slice(2), amount)])
  }

  /** Replaces up to six blocks; some of their transactions are gone for good. */
  async reorganise(): Promise<void> {
    const isLeftOut = (txid: string) => this.#swept.has(txid) || this.#random.chance(0.2)
    await this.anvil.reorganise(1 + this.#random.below(DEPTH_MAX), isLeftOut)
  }

  /** What the blocks above `height` of the node's chain must credit, summed for each block, address and asset. */
  async creditsAbove(height: number): Promise<Map<string, bigint>> {
    const sums = new Map<string, bigint>()
    const tip = await this.anvil.height()
    for (let at = height + 1; at <= tip; at++) {
      const { hash, transactions } = await this.anvil.rpc<{ hash: string; transactions: string[] }>(
        'eth_getBlockByNumber',
        [hex(BigInt(at)), false],
      )
      const credits = transactions.flatMap((txid) => this.expected.get(txid) ?? [])
      for (const { addressBytes, asset, amount } of credits) {
        const key = `${hash} ${addressBytes} ${asset}`
        sums.set(key, (sums.get(key) ?? 0n) + amount)
      }
    }
    return sums
  }

  addressBytes(): Buffer {
    return this.#random.pick(this.open)
  }

  amount(): bigint {
    return BigInt(1 + this.#random.below(1_000_000))
  }

  /** Some addresses, the same one more than once now and then, and an amount for each. */
  many(): { to: string[]; values: bigint[]; total: bigint; addresses: string[] } {
    const addresses = Array.from({ length: 1 + this.#random.below(6) }, () =>
      this.addressBytes().toString('hex'),
    )
    const values = addresses.map(() => this.amount())
    const total = values.reduce((sum, value) => sum + value, 0n)
    return { to: addresses.map((addressBytes) => `0x${addressBytes}`), values, total, addresses }
  }
}

type Sending = {
  readonly call: {
    readonly to?: string
    readonly value?: bigint
    readonly data?: string
    readonly gas?: number
  }
  readonly credits: readonly Credit[]
}
type Kind = (workload: EvmWorkload) => Promise<Sending>

const ether = (addressBytes: string, amount: bigint): Credit => ({ addressBytes, asset: 'ETH_BASE', amount })
const usdc = (addressBytes: string, amount: bigint): Credit => ({ addressBytes, asset: 'USDC_BASE', amount })

/** One address and an amount. */
function one(workload: EvmWorkload) {
  const addressBytes = workload.addressBytes().toString('hex')
  return { addressBytes, to: `0x${addressBytes}`, amount: workload.amount() }
}

const call = (to: string, signature: string, ...args: readonly Argument[]) => ({
  to,
  data: callData(signature, ...args),
})

const KINDS: readonly Kind[] = [
  async function plain(workload) {
    const { addressBytes, to, amount } = one(workload)
    return { call: { to, value: amount }, credits: [ether(addressBytes, amount)] }
  },
  async function plainAndLarge(workload) {
    const { addressBytes, to, amount } = one(workload)
    const large = workload.sweepsToo ? amount * 10n ** 12n : amount
    return { call: { to, value: large }, credits: [ether(addressBytes, large)] }
  },
  async function nothing(workload) {
    return { call: { to: one(workload).to, value: 0n }, credits: [] }
  },
  async function batch(workload) {
    const { to, values, total, addresses } = workload.many()
    return {
      call: { ...call(workload.contracts.batch, 'pay(address[],uint256[])', to, values), value: total },
      credits: addresses.map((addressBytes, index) => ether(addressBytes, values[index] ?? 0n)),
    }
  },
  async function wallet(workload) {
    const { addressBytes, to, amount } = one(workload)
    // The ABI of an empty `bytes`: an offset of three words, and a length of zero.
    const data = `${callData('execute(address,uint256,bytes)', to, amount, 96n)}${'0'.repeat(64)}`
    return { call: { to: workload.contracts.wallet, data }, credits: [ether(addressBytes, amount)] }
  },
  async function selfDestruct(workload) {
    const { addressBytes, to, amount } = one(workload)
    return {
      call: { data: await bytecodeOf('SelfDestruct', to), value: amount },
      credits: [ether(addressBytes, amount)],
    }
  },
  async function reverted(workload) {
    const { to, amount } = one(workload)
    return {
      call: { ...call(workload.contracts.batch, 'payAndRevert(address)', to), value: amount },
      credits: [],
    }
  },
  async function failsInside(workload) {
    const { to, amount } = one(workload)
    return {
      call: { ...call(workload.contracts.batch, 'payInFailingCall(address)', to), value: amount },
      credits: [],
    }
  },
  async function token(workload) {
    const { addressBytes, to, amount } = one(workload)
    return { call: workload.contracts.token.mint(to, amount), credits: [usdc(addressBytes, amount)] }
  },
  async function tokenFromHolder(workload) {
    const { addressBytes, to, amount } = one(workload)
    return {
      call: call(workload.contracts.token.contract, 'transfer(address,uint256)', to, amount),
      credits: [usdc(addressBytes, amount)],
    }
  },
  async function tokenBatch(workload) {
    const { to, values, addresses } = workload.many()
    return {
      call: call(workload.contracts.token.contract, 'mintMany(address[],uint256[])', to, values),
      credits: addresses.map((addressBytes, index) => usdc(addressBytes, values[index] ?? 0n)),
    }
  },
  async function tokenOfZero(workload) {
    return { call: workload.contracts.token.mint(one(workload).to, 0n), credits: [] }
  },
  async function tokenReverted(workload) {
    const { to, amount } = one(workload)
    return {
      call: call(workload.contracts.token.contract, 'revertAfter(address,uint256)', to, amount),
      credits: [],
    }
  },
  async function approval(workload) {
    const { to, amount } = one(workload)
    return {
      call: call(workload.contracts.token.contract, 'approve(address,uint256)', to, amount),
      credits: [],
    }
  },
  async function sameSymbol(workload) {
    const { to, amount } = one(workload)
    return { call: workload.contracts.sameSymbol.mint(to, amount), credits: [] }
  },
  async function tokenWithFee(workload) {
    const { to, amount } = one(workload)
    return {
      call: call(workload.contracts.withFee.contract, 'transfer(address,uint256)', to, amount),
      credits: [],
    }
  },
]
