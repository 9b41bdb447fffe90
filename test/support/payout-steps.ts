import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pino from 'pino'
import type { AssetId, Network } from '../../src/core/assets.ts'
import type { TokenContracts } from '../../src/core/chain/evm-parameters.ts'
import { serviceFeeOf } from '../../src/core/ledger/deposit.ts'
import type { Payout } from '../../src/core/payout/payout.ts'
import { insertLedgerTransfers, loadBalances } from '../../src/db/ledger/ledger.ts'
import { postTransfers } from '../../src/flows/steps/post-transfers.ts'
import { decidePayout } from '../../src/payouts/advance-payout.ts'
import { OutcomeSealer } from '../../src/payouts/broadcast/outcome-sealer.ts'
import type { PayoutTracker } from '../../src/payouts/broadcast/payout-tracker.ts'
import { type PayoutRequested, requestPayoutAlone } from '../../src/payouts/request-payout.ts'
import { ApprovalMemory } from '../../src/payouts/sign/approval-memory.ts'
import { openSealKey } from '../../src/payouts/sign/approvers.ts'
import { FirstSeen } from '../../src/payouts/sign/first-seen.ts'
import { PayoutJournal } from '../../src/payouts/sign/payout-journal.ts'
import { recoverPayouts } from '../../src/payouts/sign/recover-payouts.ts'
import { signPayouts } from '../../src/payouts/sign/sign-payouts.ts'
import type { SigningContext } from '../../src/payouts/sign/signing-context.ts'
import { readValueLimits } from '../../src/payouts/sign/signing-limits.ts'
import { loadPayout } from '../../src/payouts/store/payouts.ts'
import { type Tenant, type Tx, withTransaction } from '../../src/postgres/transaction.ts'
import { DeduplicatedLog } from '../../src/runtime/deduplicated-log.ts'
import { newId } from '../../src/runtime/new-id.ts'
import { openApprovalKey } from '../../src/secrets/approval-key.ts'
import { openKeyring } from '../../src/secrets/keyring.ts'
import { openOutcomeKey, outcomeKeyFileOf, watcherKeyOf } from '../../src/secrets/outcome-key.ts'
import { writePublicKeyFile } from '../../src/secrets/public-key-file.ts'
import type { SigningKey } from '../../src/secrets/signing-key.ts'
import { openAccountsOf, wordsOf } from '../../src/signer/derive.ts'
import { BASE_URL } from './api.ts'
import { createTestDatabase, type TestDatabase } from './database.ts'
import { quietSeals } from './sealed.ts'
import { until } from './until.ts'

const PAYOUT_PROGRAM = new URL('./payout-process.mjs', import.meta.url).pathname

export const keyring = openKeyring(Buffer.alloc(32, 9))
export const seals = quietSeals(keyring)
export const OUTCOME_KEY = openOutcomeKey(watcherKeyOf(keyring))

type Accounts = Awaited<ReturnType<typeof openAccountsOf>>
export type PayoutParts = {
  readonly database: TestDatabase
  readonly folder: string
  /** Of the signer. */
  readonly seed: Buffer
  readonly accounts: Accounts
}

export type PayoutProcess = {
  /** How many moments it has come past at which a death would leave something half done. */
  moments(): number
  /** Ends it as a power cut would. */
  kill(): Promise<void>
}

/** A database and a signer's folder and seed, and no processes: a test takes each turn itself, on whatever chain. */
export abstract class PayoutSteps {
  readonly database: TestDatabase
  readonly folder: string
  readonly seed: Buffer
  readonly accounts: Accounts
  readonly logged: string[] = []
  /** The time that signer and tracker go by. */
  now = new Date('2026-11-21T12:00:00.000Z')

  constructor(parts: PayoutParts) {
    this.database = parts.database
    this.folder = parts.folder
    this.seed = parts.seed
    this.accounts = parts.accounts
  }

  /** A database that knows the accounts of a new seed. */
  static async openParts(): Promise<PayoutParts> {
    const database = await createTestDatabase()
    const folder = await mkdtemp(join(tmpdir(), 'paylink-payouts-'))
    const approvalKeyFile = join(folder, 'published-approval-key')
    await writePublicKeyFile(approvalKeyFile, openApprovalKey(keyring).publicKey)
    await writePublicKeyFile(outcomeKeyFileOf(approvalKeyFile), OUTCOME_KEY.publicKey)
    const seed = randomBytes(32)
    const accounts = await openAccountsOf(wordsOf(seed))
    for (const { keyspace, path, xpub } of accounts.accounts.filter(({ xpub }) => xpub !== null)) {
      await database.owner.query(
        'insert into account_key (keyspace, xpub, path, created_at) values ($1, $2, $3, now())',
        [keyspace, xpub, path],
      )
    }
    return { database, folder, seed, accounts }
  }

  async closeParts(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true })
    await this.database.drop()
  }

  get log() {
    return pino({ level: 'debug' }, { write: (line: string) => this.logged.push(line) })
  }

  /** `block`: where the watcher stands. */
  async knowNetwork(
    network: Network,
    parameters = 'regtest',
    block: { readonly height: number; readonly hash: string } | null = null,
  ): Promise<void> {
    await this.database.owner.query(
      `insert into network_state (network, parameters, height, hash, tip_height, status, updated_at)
       values ($1, $2, $3, $4, 0, 'ok', now())`,
      [network, parameters, block?.height ?? null, block?.hash ?? null],
    )
  }

  /** Books a final deposit as the watcher does. */
  async record(
    tenant: Tenant,
    deposit: {
      invoiceId: string
      network: Network
      asset: AssetId
      txid: string
      output: number
      amount: bigint
    },
  ): Promise<void> {
    const { invoiceId, network, asset, txid, output, amount } = deposit
    const id = newId('payment', this.now)
    await withTransaction(this.database.owner, tenant, async (tx) => {
      await tx.query(
        `insert into transfer (merchant_id, id, livemode, invoice_id, network, txid, output_index, asset, amount, status,
           first_seen_at, detected_at, confirmed_at, confirmations_required, late, dust, announced_confirming,
           announced_review, ledger_bucket, ledger_postings)
         values ($1, $2, $9, $3, $4, $5, $6, $7, $8, 'confirmed', now(), now(), now(), 1, false, false, true, false,
           'available', 1)`,
        [tenant.merchantId, id, invoiceId, network, txid, output, asset, amount, tenant.livemode],
      )
      await insertLedgerTransfers(tx, tenant, [
        {
          id: `dep:${network}:${txid}:${output}:${invoiceId}:1`,
          kind: 'deposit',
          invoiceId,
          paymentId: id,
          asset,
          from: 'chain',
          to: 'available',
          amount,
          usdCents: null,
          createdAt: this.now,
        },
      ])
      await this.#keepFee(tx, tenant, { ...deposit, paymentId: id })
    })
  }

  /** Books, as the watcher does, that a reorganisation took a deposit's block and nothing has it any more. */
  async takeBack(tenant: Tenant, txid: string): Promise<void> {
    await withTransaction(this.database.owner, tenant, async (tx) => {
      const { rows } = await tx.query<{
        id: string
        amount: bigint
        asset: AssetId
        posting: string
        invoice: string
      }>(
        `update transfer t set status = 'reorged', ledger_bucket = 'none', ledger_postings = 2, confirmed_at = null
         where merchant_id = $1 and txid = $2
         returning id, amount, asset, invoice_id as invoice,
           concat_ws(':', 'dep', network, txid, output_index, invoice_id, '2') as posting`,
        [tenant.merchantId, txid],
      )
      for (const { id, amount, asset, posting, invoice } of rows) {
        const of = { id: posting, invoiceId: invoice, paymentId: id, asset, amount, usdCents: null }
        const move = { kind: 'deposit_void', from: 'available', to: 'chain', createdAt: this.now } as const
        await postTransfers(tx, tenant, [{ ...of, ...move }])
      }
    })
  }

  /** What the operator keeps of a deposit, as its invoice says. */
  async #keepFee(
    tx: Tx,
    tenant: Tenant,
    deposit: {
      invoiceId: string
      paymentId: string
      network: Network
      asset: AssetId
      txid: string
      output: number
      amount: bigint
    },
  ): Promise<void> {
    const { invoiceId, paymentId, network, asset, txid, output, amount } = deposit
    const { rows } = await tx.query<{ bps: number }>(
      'select service_fee_bps as bps from invoice where merchant_id = $1 and id = $2',
      [tenant.merchantId, invoiceId],
    )
    const fee = serviceFeeOf(amount, rows[0]?.bps ?? 0)
    if (fee === 0n) return
    await insertLedgerTransfers(tx, tenant, [
      {
        id: `dep:${network}:${txid}:${output}:${invoiceId}:1:fee`,
        kind: 'service_fee',
        invoiceId,
        paymentId,
        asset,
        from: 'available',
        to: 'fees',
        amount: fee,
        usdCents: null,
        createdAt: this.now,
      },
    ])
  }

  /** What comes of asking for a payout to an address. */
  async ask(
    tenant: Tenant,
    wanted: { readonly asset: AssetId; readonly amount: string | null; readonly address: string },
  ): Promise<PayoutRequested> {
    const destinationId = newId('payoutDestination', this.now)
    await this.database.owner.query(
      `insert into payout_destination (merchant_id, id, livemode, asset, address, name, created_by, created_at, usable_at)
       values ($1, $2, $6, $3, $4, 'x', 'x', $5, $5)`,
      [tenant.merchantId, destinationId, wanted.asset, wanted.address, this.now, tenant.livemode],
    )
    return this.askTo(tenant, destinationId, wanted.amount)
  }

  /** What comes of asking for a payout to a destination that is on the list. */
  askTo(tenant: Tenant, destinationId: string, amount: string | null): Promise<PayoutRequested> {
    return requestPayoutAlone(this.database.pools.api, {
      tenant,
      source: 'available',
      destinationId,
      amount,
      asset: null,
      by: 'key_a',
      dailyLimits: {},
      requestId: 'req_test',
      now: this.now,
    })
  }

  approve(tenant: Tenant, payoutId: string): Promise<void> {
    return this.#decide(tenant, payoutId, 'approve')
  }

  reject(tenant: Tenant, payoutId: string): Promise<void> {
    return this.#decide(tenant, payoutId, 'reject')
  }

  async #decide(tenant: Tenant, payoutId: string, decision: 'approve' | 'reject'): Promise<void> {
    const { pools, owner } = this.database
    const { source } = await this.load(tenant, payoutId)
    // Of fees the operator decides, by command.
    const pool = source === 'fees' ? owner : pools.api
    const deps = { pool, clock: () => this.now, keyring, seals }
    const by = { by: 'key_b', requestId: 'req_test' }
    const decided = await decidePayout(deps, { tenant, source, payoutId, decision, ...by })
    if (decided.kind !== 'decided') throw new Error(decided.kind)
  }

  /** One turn of a signer that was just started on the folder. */
  async sign(changes: Partial<SigningContext> = {}): Promise<void> {
    await signPayouts(await this.signer(changes))
  }

  /** What seals in the watcher's process. */
  sealerOf(network: Network, key: SigningKey | null = OUTCOME_KEY): OutcomeSealer {
    const { log, database } = this
    return new OutcomeSealer({ network, pool: database.pools.watcher, clock: () => this.now, log, key })
  }

  /** A tracker that was just started. */
  abstract tracker(): PayoutTracker

  /** What the signer refused is given up once it has looked into its journal. */
  async endRefused(): Promise<void> {
    await this.tracker().pass()
    await this.sign()
    await this.tracker().pass()
  }

  /** A signer that was just started on the folder. */
  async signer(changes: Partial<SigningContext> = {}): Promise<SigningContext> {
    const journal = await PayoutJournal.open(this.folder)
    return {
      pool: this.database.pools.signer,
      clock: () => this.now,
      log: this.log,
      folder: this.folder,
      staging: false,
      approvalKeyFile: join(this.folder, 'published-approval-key'),
      journal,
      seen: await FirstSeen.open(this.folder),
      limits: await readValueLimits(this.folder),
      accounts: this.accounts.spenders,
      solana: this.accounts.solana,
      approvers: {
        memory: await ApprovalMemory.open(this.folder),
        sealKey: await openSealKey(this.folder),
        baseUrl: BASE_URL,
      },
      alerts: new DeduplicatedLog(),
      ...changes,
    }
  }

  /** A backup of the whole database; the function that comes back restores it. */
  async backUp(): Promise<() => Promise<void>> {
    const { owner } = this.database
    const { rows } = await owner.query<{ name: string }>(
      `select quote_ident(tablename) as name from pg_tables where schemaname = 'public' order by tablename`,
    )
    const names = rows.map(({ name }) => name)
    const of = (statement: (name: string) => string) => names.map(statement).join(';')
    await owner.query(`create schema backup; ${of((name) => `create table backup.${name} as table ${name}`)}`)
    return async () => {
      // As pg_restore does: no trigger runs and no reference is checked.
      await owner.query(`begin; set local session_replication_role = replica;
        ${of((name) => `delete from public.${name}`)};
        ${of((name) => `insert into public.${name} table backup.${name}`)};
        drop schema backup cascade; commit`)
    }
  }

  /** What `paylink signer recover` does, by payout. */
  async recover(): Promise<{ readonly [payoutId: string]: string }> {
    const journal = await PayoutJournal.open(this.folder, 'reads')
    const deps = { pool: this.database.owner, clock: () => this.now, journal }
    const recovered = await recoverPayouts(deps)
    return Object.fromEntries(recovered.map(({ payoutId, outcome }) => [payoutId, outcome]))
  }

  async load(tenant: Tenant, payoutId: string): Promise<Payout> {
    const stored = await withTransaction(this.database.owner, tenant, (tx) =>
      loadPayout(tx, tenant, payoutId, { source: null }),
    )
    if (stored === null) throw new Error('no such payout')
    return stored.payout
  }

  async balances(tenant: Tenant): Promise<{ readonly [account: string]: bigint }> {
    const rows = await withTransaction(this.database.owner, tenant, (tx) => loadBalances(tx, tenant))
    return Object.fromEntries(rows.map(({ account, balance }) => [account, balance]))
  }

  async eventsOf(payoutId: string): Promise<string[]> {
    const { rows } = await this.database.owner.query<{ event_type: string }>(
      'select event_type from event where resource_id = $1 order by sequence',
      [payoutId],
    )
    return rows.map((row) => row.event_type.replace('payout.', ''))
  }

  /** A signer and a tracker in a process of their own, at work when this returns. */
  async startPayoutProcess(at: {
    readonly network: Network
    readonly asset: AssetId
    readonly rpcUrl: string
    /** On an account-based chain. */
    readonly tokenContracts?: TokenContracts
  }): Promise<PayoutProcess> {
    const order = {
      ...at,
      signerUrl: this.database.urls.signer,
      watcherUrl: this.database.urls.watcher,
      folder: this.folder,
      seed: this.seed.toString('hex'),
      watcherKey: watcherKeyOf(keyring).toString('hex'),
      now: this.now.toISOString(),
    }
    const child = spawn(process.execPath, [PAYOUT_PROGRAM, JSON.stringify(order)], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let told = ''
    const collect = (chunk: Buffer) => {
      told += chunk.toString('utf8')
    }
    child.stdout.on('data', collect)
    child.stderr.on('data', collect)
    await until(
      () => {
        if (child.exitCode !== null) throw new Error(`the process ended by itself: ${told}`)
        return told.includes('begins')
      },
      { what: 'the process begins' },
    )
    return {
      moments: () => told.split('\n').length - 2,
      kill: async () => {
        if (child.exitCode !== null) throw new Error(`the process ended by itself: ${told}`)
        const ended = new Promise((resolve) => child.once('exit', resolve))
        child.kill('SIGKILL')
        await ended
      },
    }
  }
}
