import { randomBytes } from 'node:crypto'
import { address, getAddressDecoder, isOffCurveAddress } from '@solana/kit'
import { runAudit } from '../../src/audit/run-audit.ts'
import { SolanaRpc } from '../../src/chain/solana/solana-rpc.ts'
import { associatedTokenAccount } from '../../src/chain/solana/token-accounts.ts'
import type { AssetId } from '../../src/core/assets.ts'
import { solanaMintsOf } from '../../src/core/chain/solana-mints.ts'
import type { Invoice } from '../../src/core/invoice/types.ts'
import type { Payout } from '../../src/core/payout/payout.ts'
import type { ChainNode } from '../../src/nodes/chain-nodes.ts'
import { PayoutProviders } from '../../src/payouts/broadcast/payout-providers.ts'
import { PayoutTracker } from '../../src/payouts/broadcast/payout-tracker.ts'
import { SolanaBroadcaster } from '../../src/payouts/broadcast/solana/solana-broadcaster.ts'
import { isPayoutToken } from '../../src/payouts/broadcast/solana/vault-tokens.ts'
import {
  loadSolanaSignerAccounts,
  type SolanaSignerAccounts,
} from '../../src/payouts/store/solana-accounts.ts'
import type { Tenant } from '../../src/postgres/transaction.ts'
import { SANDBOX_MINTS, sandboxMintOf } from '../../src/sandbox/solana/sandbox-mints.ts'
import { type PayoutParts, type PayoutProcess, PayoutSteps } from './payout-steps.ts'
import { seedInvoice, seedMerchant } from './seed.ts'
import { type DrivenSolana, solanaDriver } from './solana-driver.ts'

const NETWORK = 'solana-test'
const TURNS_MAX = 40

/** The Solana sandbox, whose blocks come when asked for and are final at once, beside what every payout needs. */
export class SolanaPayoutWorld extends PayoutSteps {
  readonly solana: DrivenSolana
  readonly rpc: SolanaRpc

  private constructor(parts: PayoutParts, solana: DrivenSolana) {
    super(parts)
    this.solana = solana
    this.rpc = new SolanaRpc(solana.url, 'the test')
  }

  /** With parts of its own, unless it shares those of another chain's world. */
  static async open(shared: PayoutParts | null = null): Promise<SolanaPayoutWorld> {
    const solana = await solanaDriver('blocks').start()
    const world = new SolanaPayoutWorld(shared ?? (await PayoutSteps.openParts()), solana)
    const height = await world.rpc.slot('confirmed')
    const { blockhash: hash = '' } = (await world.rpc.blockHead(height)) ?? {}
    await world.knowNetwork(NETWORK, 'regtest', { height, hash })
    await world.sign()
    return world
  }

  async close(): Promise<void> {
    await this.closeChain()
    await this.closeParts()
  }

  /** All but the parts, which another world has. */
  async closeChain(): Promise<void> {
    await this.rpc.close()
    await this.solana.remove()
  }

  /** The signer's own accounts as the database has them. */
  async signerAccounts(): Promise<SolanaSignerAccounts> {
    const signerAccounts = await loadSolanaSignerAccounts(this.database.owner, NETWORK)
    if (signerAccounts === null) throw new Error('the signer has published nothing')
    return signerAccounts
  }

  /** Gives the fee payer what an operator would. */
  async fund(lamports = 10n ** 9n): Promise<void> {
    const { feePayer } = await this.signerAccounts()
    await this.solana.pay(feePayer, lamports)
    await this.solana.mine(1)
    await this.turn()
  }

  /** Payout tracker and signer each take a turn, then a block is mined. */
  async turn(tracker = this.tracker()): Promise<void> {
    await tracker.pass()
    await this.sign()
    await tracker.pass()
    await this.solana.mine(1)
    this.now = new Date(this.now.getTime() + 1_000)
  }

  /** A merchant with final deposits of these amounts, each at an address of its own. */
  async openShop(amounts: readonly bigint[], serviceFeeBps = 0, asset: AssetId = 'SOL'): Promise<Tenant> {
    const tenant = await seedMerchant(this.database)
    for (const amount of amounts) await this.deposit(tenant, amount, { serviceFeeBps, asset })
    return tenant
  }

  /** The deposit address that was paid, or that the books say was. */
  async deposit(
    tenant: Tenant,
    amount: bigint,
    {
      isPaid = true,
      serviceFeeBps = 0,
      asset = 'SOL',
    }: { readonly isPaid?: boolean; readonly serviceFeeBps?: number; readonly asset?: AssetId } = {},
  ): Promise<string> {
    const { address: to, id: invoiceId } = await this.invoice(tenant, amount, serviceFeeBps, asset)
    const txid = isPaid ? await this.pay(asset, to, amount) : invoiceId
    await this.solana.mine(1)
    await this.record(tenant, { network: NETWORK, asset, txid, output: 1, invoiceId, amount })
    return to
  }

  /** An invoice that waits to be paid at the signer's next address. */
  async invoice(tenant: Tenant, amount: bigint, serviceFeeBps = 0, asset: AssetId = 'SOL'): Promise<Invoice> {
    const { address: to, addressBytes } = await this.nextAddress()
    const expiresAtMs = this.now.getTime() + 3_600_000
    const changes = { asset, amount, address: to, serviceFeeBps, expiresAtMs }
    return seedInvoice(this.database, tenant, changes, addressBytes)
  }

  /** The signer's next. */
  async nextAddress(): Promise<{ readonly address: string; readonly addressBytes: Buffer }> {
    const { rows } = await this.database.owner.query<{ next: number }>(
      `select coalesce(max(next_index), 0) as next from account_key where keyspace = 'solana-test'`,
    )
    const addressBytes = Buffer.from(this.accounts.solana.ownerAt('solana-test', rows[0]?.next ?? 0))
    return { address: getAddressDecoder().decode(addressBytes), addressBytes }
  }

  /** A wallet's that nobody else is paid at: a key has it, and no program. */
  newAddress = (): string => {
    for (;;) {
      const found = getAddressDecoder().decode(randomBytes(32))
      if (!isOffCurveAddress(found)) return found
    }
  }

  pay(asset: AssetId, owner: string, amount: bigint): Promise<string> {
    const to = address(owner)
    return asset === 'SOL' ? this.solana.pay(to, amount) : this.solana.payer.giveTokens(asset, to, amount)
  }

  async request(
    tenant: Tenant,
    amount: string,
    to = this.newAddress(),
    asset: AssetId = 'SOL',
  ): Promise<Payout> {
    const requested = await this.ask(tenant, { asset, amount, address: to })
    if (requested.kind !== 'requested') throw new Error(requested.kind)
    return requested.payout
  }

  async payout(tenant: Tenant, amount: string, to?: string, asset?: AssetId): Promise<Payout> {
    const payout = await this.request(tenant, amount, to, asset)
    await this.approve(tenant, payout.id)
    return payout
  }

  /** A broadcaster that was just started. */
  broadcaster(rpc: SolanaRpc = this.rpc, ...further: SolanaRpc[]): SolanaBroadcaster {
    const { log, database } = this
    const at = { network: NETWORK, pool: database.pools.watcher, clock: () => this.now, log } as const
    const others = further.map((chain, index) => ({ name: `further node ${index + 1}`, chain }))
    return new SolanaBroadcaster({
      ...at,
      sealer: this.sealerOf(NETWORK),
      providers: new PayoutProviders(at, [{ name: 'the node', chain: rpc }, ...others]),
      tokens: solanaMintsOf(NETWORK, 'test', SANDBOX_MINTS).filter(isPayoutToken),
      givesCoins: false,
      busyIntervalMs: 0,
    })
  }

  /** A tracker that was just started. */
  tracker(broadcaster = this.broadcaster()): PayoutTracker {
    return new PayoutTracker({
      network: NETWORK,
      pool: this.database.pools.watcher,
      clock: () => this.now,
      log: this.log,
      sealer: this.sealerOf(NETWORK),
      broadcaster,
      notifier: { deliveriesWaiting: () => {}, activity: () => {} },
    })
  }

  /** See `startPayoutProcess`. */
  startProcess(): Promise<PayoutProcess> {
    const tokenContracts = SANDBOX_MINTS
    return this.startPayoutProcess({
      network: NETWORK,
      asset: 'SOL',
      rpcUrl: this.solana.url,
      tokenContracts,
    })
  }

  async until(tenant: Tenant, payoutId: string, status: Payout['status']): Promise<Payout> {
    for (let turn = 0; turn < TURNS_MAX; turn++) {
      const payout = await this.load(tenant, payoutId)
      if (payout.status === status) return payout
      await this.turn()
    }
    throw new Error(`the payout is ${(await this.load(tenant, payoutId)).status}: ${this.logged.join('')}`)
  }

  async holds(owner: string): Promise<bigint> {
    return (await this.solana.payer.client.getBalance(address(owner), { commitment: 'confirmed' }).send())
      .value
  }

  /** Tokens where wallets put an owner's. */
  async holdsTokens(asset: AssetId, owner: string): Promise<bigint> {
    const mint = sandboxMintOf(asset)
    if (mint === null) throw new Error(`${asset} has no mint`)
    const { balances } = await this.rpc.balancesOf([associatedTokenAccount(owner, mint)], 0)
    return balances[0]?.tokens ?? 0n
  }

  /** This world's node, as an audit reads it. */
  node(): ChainNode {
    return {
      network: NETWORK,
      chain: 'solana',
      livemode: false,
      rpcUrl: this.solana.url,
      furtherUrls: [],
      rpcSetting: 'TEST_SOLANA_RPC_URL',
      zmqUrl: null,
      tokenContracts: SANDBOX_MINTS,
      sandbox: null,
    }
  }

  /** What an audit finds wrong with what was swept and paid out, and where the chain holds less than the books say. */
  async audited(): Promise<string[]> {
    const results = await runAudit(this.database.owner, [this.node()])
    const names = [`balances_${NETWORK}`, `outcomes_${NETWORK}`, 'swept_covers_payouts']
    const asked = results.filter(({ name }) => names.includes(name))
    const missed = asked.find(({ notChecked }) => notChecked !== null)
    if (asked.length !== names.length || missed !== undefined)
      throw new Error(`not checked: ${missed?.notChecked}`)
    return asked.flatMap(({ findings }) => findings.map(({ subject, detail }) => `${subject}: ${detail}`))
  }

  async signedOf(payoutId: string): Promise<{ txid: string; raw: Buffer }[]> {
    const { rows } = await this.database.owner.query<{ txid: string; raw: Buffer }>(
      'select txid, raw from payout_transaction where payout_id = $1 order by number',
      [payoutId],
    )
    return rows
  }
}
