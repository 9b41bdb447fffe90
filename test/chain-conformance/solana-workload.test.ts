import { randomBytes } from 'node:crypto'
import {
  type Address,
  type AddressesByLookupTableAddress,
  address,
  getAddressDecoder,
  getAddressEncoder,
} from '@solana/kit'
import {
  findAssociatedTokenPda,
  getCloseAccountInstruction,
  TOKEN_PROGRAM_ADDRESS,
} from '@solana-program/token'
import { expect, test } from 'vitest'
import type { FoundTransfer } from '../../src/chain/adapter.ts'
import type { PaymentAsset } from '../../src/core/assets.ts'
import { NATIVE_MINT as WRAPPED } from '../../src/core/chain/solana-mints.ts'
import type { BlockRef } from '../../src/core/invoice/types.ts'
import { seededRandom } from '../support/random.ts'
import { type DrivenSolana, solanaDriver } from '../support/solana-driver.ts'
import { lever } from '../support/solana-payer.ts'

const NATIVE_MINT = address(WRAPPED)
const TRANSFERS = process.env.LONG === undefined ? 200 : 10_000
const OWNERS = 40
const AMOUNT = 5_000_000n
const DUST = 1_000n
const STEPS_MAX = 100_000
const BLOCKS_MAX = 50

const KINDS = [
  'transfer',
  'twice',
  'table',
  'nonce',
  'version 1',
  'failed',
  'wrapped',
  'dust',
  'by a program',
  'USDC',
  'PYUSD twice, and USDT',
  'tokens that are none of ours',
] as const

type Paid = {
  readonly owner: Address
  readonly txid: string
  readonly amount: bigint
  readonly asset: PaymentAsset
}

/** Pays watched owners in every way there is, on a chain with skipped slots and forks. */
class Workload {
  readonly owners: readonly Address[]
  readonly paid: Paid[] = []
  readonly #solana: DrivenSolana
  readonly #random: ReturnType<typeof seededRandom>
  readonly #funded = new Set<Address>()
  #tables: AddressesByLookupTableAddress = {}
  #nonce: Address | null = null

  constructor(solana: DrivenSolana, seed: number) {
    this.#solana = solana
    this.#random = seededRandom(seed)
    this.owners = Array.from({ length: OWNERS }, () => getAddressDecoder().decode(randomBytes(32)))
  }

  async prepare(): Promise<void> {
    this.#tables = await this.#solana.payer.makeTable(this.owners.slice(0, 10))
    this.#nonce = await this.#solana.payer.makeNonce()
    const { payer } = this.#solana
    for (const asset of ['USDC_SOLANA', 'USDT_SOLANA', 'PYUSD_SOLANA'] as const)
      await payer.giveTokens(asset, payer.signer.address, 10n ** 12n)
    await payer.mine(1)
  }

  #below(max: number): number {
    return this.#random.below(max)
  }

  async run(count: number): Promise<void> {
    const { payer, url } = this.#solana
    for (let done = 0; done < count; done++) {
      const kind = KINDS[done % KINDS.length] ?? 'transfer'
      await this.#pay(kind, BigInt(done))
      if (this.#below(3) === 0) await payer.mine(1, this.#below(3))
      if (this.#below(40) === 0) {
        await payer.mine(3)
        await lever(url, 'sandbox_reorganise', [1 + this.#below(3)])
      }
    }
    await payer.mine(2)
  }

  async #pay(kind: (typeof KINDS)[number], nth: bigint): Promise<void> {
    const { payer } = this.#solana
    const place = this.#below(kind === 'table' ? 10 : OWNERS)
    const owner = this.owners[place] ?? this.owners[0]
    if (owner === undefined) throw new Error('no owner')
    const amount = AMOUNT + nth
    const expectPaid = (txid: string, sum: bigint, asset: PaymentAsset = 'SOL') => {
      this.paid.push({ owner, txid, amount: sum, asset })
      if (asset === 'SOL') this.#funded.add(owner)
    }
    const transfer = payer.transfer(owner, amount)
    switch (kind) {
      case 'transfer':
        return expectPaid(await payer.send([transfer]), amount)
      case 'twice':
        return expectPaid(await payer.send([transfer, payer.transfer(owner, amount + 7n)]), 2n * amount + 7n)
      case 'table':
        return expectPaid(await payer.send([transfer], { tables: this.#tables }), amount)
      case 'version 1':
        return expectPaid(await payer.send([transfer], { version: 1 }), amount)
      case 'nonce': {
        const account = this.#nonce
        if (account === null) throw new Error('the workload was not prepared')
        // A nonce moves on once a block.
        await payer.mine(1)
        const nonce = { account, value: await payer.nonceValue(account) }
        expectPaid(await payer.send([transfer], { nonce }), amount)
        return payer.mine(1)
      }
      case 'failed':
        await payer.send([transfer, payer.transfer(owner, 10n ** 18n)], { skipPreflight: true })
        return
      case 'dust':
        if (this.#funded.has(owner)) {
          await payer.mine(1)
          expectPaid(await payer.send([payer.transfer(owner, DUST + nth)]), DUST + nth)
        }
        return
      case 'wrapped':
        return expectPaid(await payer.send(await payer.wrap(owner, amount)), amount, 'WSOL')
      case 'USDC':
        return expectPaid(
          await payer.send(await payer.tokens('USDC_SOLANA', owner, amount)),
          amount,
          'USDC_SOLANA',
        )
      case 'PYUSD twice, and USDT': {
        const pyusd = await payer.tokens('PYUSD_SOLANA', owner, amount)
        const usdt = await payer.tokens('USDT_SOLANA', owner, amount + 1n)
        const txid = await payer.send([...pyusd, ...pyusd, ...usdt])
        expectPaid(txid, 2n * amount, 'PYUSD_SOLANA')
        return expectPaid(txid, amount + 1n, 'USDT_SOLANA')
      }
      case 'tokens that are none of ours': {
        await payer.send(await payer.otherMint(owner, amount))
        // Sweeps look for tokens where wallets put them, and nowhere else.
        await payer.send(await payer.elsewhere('USDC_SOLANA', owner, amount))
        return
      }
      case 'by a program': {
        // What closing a token account leaves goes to whom one names, by the token program.
        const [account] = await findAssociatedTokenPda({
          owner: payer.signer.address,
          mint: NATIVE_MINT,
          tokenProgram: TOKEN_PROGRAM_ADDRESS,
        })
        const before = await payer.client.getMinimumBalanceForRentExemption(165n).send()
        const close = getCloseAccountInstruction({ account, destination: owner, owner: payer.signer })
        const open = await payer.wrap(payer.signer.address, amount)
        await payer.mine(1)
        return expectPaid(await payer.send([...open, close]), amount + before)
      }
    }
  }
}

async function findAll(solana: DrivenSolana, owners: readonly Address[], from: BlockRef) {
  const adapter = solana.adapter()
  try {
    adapter.watched.add(owners.map((owner) => Uint8Array.from(getAddressEncoder().encode(owner))))
    await adapter.connect()
    const found = new Map<string, FoundTransfer>()
    let checkpoint = from
    let doubled = 0
    for (let step = 0; step < STEPS_MAX; step++) {
      const update = await adapter.nextUpdate(checkpoint, BLOCKS_MAX)
      if (update === null) return { found: [...found.values()], doubled }
      for (const { transfers } of update.blocks) {
        for (const transfer of transfers) {
          const key = `${transfer.txid}:${transfer.outputIndex}`
          if (found.has(key)) doubled += 1
          found.set(key, transfer)
        }
      }
      checkpoint = update.blocks.at(-1)?.block ?? update.ancestor
    }
    throw new Error('no tip')
  } finally {
    await adapter.close()
  }
}

const summary = (transfers: readonly { txid: string; amount: bigint; asset: string }[]) =>
  transfers.map(({ txid, amount, asset }) => `${txid} ${amount} ${asset}`).sort()

test(
  `both ways of watching find the same ${TRANSFERS} transfers of every kind, none missed, none doubled`,
  async () => {
    const seed = 20_261_121
    const solana = await solanaDriver('blocks').start()
    try {
      const adapter = solana.adapter()
      const from = await adapter.tip()
      await adapter.close()
      const workload = new Workload(solana, seed)
      await workload.prepare()
      await workload.run(TRANSFERS)
      const byBlocks = await findAll(solana, workload.owners, from)
      expect(byBlocks.doubled).toBe(0)
      expect(summary(byBlocks.found)).toEqual(summary(workload.paid))
      const byAccounts = await findAll(solana.watchedBy('accounts'), workload.owners, from)
      expect(byAccounts.doubled).toBe(0)
      expect(summary(byAccounts.found)).toEqual(summary(byBlocks.found))
      expect(byAccounts.found.map(({ outputIndex }) => outputIndex).sort()).toEqual(
        byBlocks.found.map(({ outputIndex }) => outputIndex).sort(),
      )
    } finally {
      await solana.remove()
    }
  },
  process.env.LONG === undefined ? 120_000 : 3_600_000,
)
