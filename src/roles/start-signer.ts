import { mkdir } from 'node:fs/promises'
import type pg from 'pg'
import {
  type AccountKeyRow,
  insertAccountKey,
  listAccountKeys,
  setBatchKey,
} from '../db/addresses/account-keys.ts'
import { SIGNER_LOCK_KEY } from '../db/addresses/signer-lock.ts'
import { ApprovalMemory } from '../payouts/sign/approval-memory.ts'
import { ApproverWatch, openSealKey } from '../payouts/sign/approvers.ts'
import { FirstSeen } from '../payouts/sign/first-seen.ts'
import { KnownDestinations } from '../payouts/sign/known-destinations.ts'
import { noteOperators } from '../payouts/sign/operators.ts'
import { PayoutJournal } from '../payouts/sign/payout-journal.ts'
import { signPayouts } from '../payouts/sign/sign-payouts.ts'
import { signX402 } from '../payouts/sign/sign-x402.ts'
import type { SigningContext } from '../payouts/sign/signing-context.ts'
import { readValueLimits } from '../payouts/sign/signing-limits.ts'
import { notifyActivity } from '../postgres/notify.ts'
import type { Pool } from '../postgres/pool.ts'
import { confirmLockSession } from '../postgres/session-lock.ts'
import type { Pause } from '../runtime/activity.ts'
import type { Clock } from '../runtime/clock.ts'
import { signerFolderOf } from '../runtime/data-dir.ts'
import { DeduplicatedLog } from '../runtime/deduplicated-log.ts'
import type { Log } from '../runtime/log.ts'
import { pauseUnless } from '../runtime/repeat.ts'
import { writeAddressKeys } from '../secrets/address-keys.ts'
import { SEAL_KEY_NAME, sealKeyOf } from '../secrets/seal-to-signer.ts'
import { type Account, openAccountsOf, wordsOf } from '../signer/derive.ts'
import { type IndexMarks, keepJournal, readJournal } from '../signer/index-journal.ts'
import type { AddressIssuer } from '../signer/issue-addresses.ts'
import { fileKeySource, type KeySource } from '../signer/key-source.ts'
import { indexBeyond, moveOnAfterRestore } from '../signer/move-on-after-restore.ts'
import { SignerRefused } from '../signer/refused.ts'
import { createSeed, openSeed } from '../signer/seed-file.ts'

export type SignerOptions = {
  /** Connections of the signer's own database role, two at least: one holds the lock. */
  readonly pool: Pool
  readonly dataDir: string
  /** `STAGING`. */
  readonly staging?: boolean
  /** `SIGNER_KEY_FILE`; null: the key is made once, beside the seed. */
  readonly keyFile: string | null
  /** Where it writes the public keys that verify the addresses it signs. */
  readonly addressKeysFile: string
  /** Where the API writes its public key for approvals. */
  readonly approvalKeyFile: string
  /** Origin of the dashboard: passkeys approve payouts there and nowhere else. */
  readonly baseUrl: string
  readonly clock: Clock
  readonly log: Log
  /** Pause between two looks at the database; for tests. */
  readonly intervalMs?: number
  /** How it pauses between them. */
  readonly pause?: Pause
}

export type Signer = {
  /** `standby`: another signer holds the lock of this database; this one takes over when it ends. */
  status(): 'active' | 'standby'
  /** Rejects when the signer must not go on, as a standby whose seed is not this database's. */
  readonly ended: Promise<void>
  stop(): Promise<void>
}

/** The journal is at most this far behind what the database gave out, unless a notification is lost: then by one rest. */
const INTERVAL_MS = 1_000
const FOLDER_OWNER_ONLY = 0o700

type State = {
  readonly options: SignerOptions
  readonly folder: string
  readonly keySource: KeySource
  readonly stopping: AbortController
  status: 'active' | 'standby'
  /** While active. */
  issuer: AddressIssuer | null
  payouts: SigningContext | null
  destinations: KnownDestinations | null
  approvers: ApproverWatch | null
}

const STANDING_BY = {
  status: 'standby',
  issuer: null,
  payouts: null,
  destinations: null,
  approvers: null,
} as const

/**
 * Starts the signer: takes the one lock, opens or makes the seed, publishes the accounts' extended public keys,
 * and from then on keeps its own journal of how far addresses were used. Resolves when it is active or stands by.
 * Throws `SignerRefused` where the files and the database do not belong together.
 */
export async function startSigner(options: SignerOptions): Promise<Signer> {
  const folder = signerFolderOf(options)
  await mkdir(folder, { recursive: true, mode: FOLDER_OWNER_ONLY })
  const state: State = {
    options,
    folder,
    keySource: fileKeySource(options.keyFile, folder),
    stopping: new AbortController(),
    ...STANDING_BY,
  }
  const first = await takeLock(options.pool)
  if (first === null) options.log.info('another signer holds the lock; this one stands by')
  else await activateOrRelease(state, first)
  const ended = run(state, first)
  // Whoever holds the signer decides what its end means; without one the rejection is not unhandled.
  ended.catch(() => {})
  return {
    status: () => state.status,
    ended,
    stop: async () => {
      state.stopping.abort()
      await ended.catch(() => {})
    },
  }
}

/** Holds the lock as long as its connection lives, and stands by for the next turn when it is gone. */
async function run(state: State, first: pg.PoolClient | null): Promise<void> {
  let client = first
  while (!state.stopping.signal.aborted) {
    if (client === null) {
      await pauseUnless(state.stopping.signal, state.options.intervalMs ?? INTERVAL_MS)
      client = await tryAgain(state)
      continue
    }
    try {
      await issue(state)
      await state.destinations?.look()
      if (state.payouts !== null) {
        await state.approvers?.look(state.payouts)
        await noteOperators(state.payouts)
        await signPayouts(state.payouts)
        await signX402(state.payouts)
      }
      await keepJournal(state.options.pool, state.folder)
      await restUnlessMore(state)
      // The lock is the session's: only a query on that session shows that it is still held.
      await confirmLockSession(client)
    } catch (error) {
      state.options.log.warn({ err: error }, 'the signer cannot go on and stands by')
      Object.assign(state, STANDING_BY)
      client.release(true)
      client = null
    }
  }
  if (client !== null) await finish(state, client)
}

/** What is looked at in parts is looked at whole before a rest. */
async function restUnlessMore({ options, stopping, destinations, approvers }: State): Promise<void> {
  const { intervalMs = INTERVAL_MS, pause = pauseUnless } = options
  const hasMore = destinations?.hasMore === true || approvers?.hasMore === true
  await (hasMore ? pauseUnless : pause)(stopping.signal, intervalMs)
}

async function finish(state: State, client: pg.PoolClient): Promise<void> {
  try {
    await keepJournal(state.options.pool, state.folder)
  } catch (error) {
    state.options.log.warn({ err: error }, 'the signer stopped without a last entry in its journal')
  }
  state.status = 'standby'
  await releaseLock(state, client)
}

/** A turn of a standby. An outage passes and is logged by whoever caused it; a refusal does not pass. */
async function tryAgain(state: State): Promise<pg.PoolClient | null> {
  if (state.stopping.signal.aborted) return null
  let client: pg.PoolClient | null
  try {
    client = await takeLock(state.options.pool)
  } catch (error) {
    state.options.log.debug({ err: error }, 'the signer cannot reach the database')
    return null
  }
  if (client === null) return null
  try {
    await activateOrRelease(state, client)
    return client
  } catch (error) {
    if (error instanceof SignerRefused) throw error
    state.options.log.warn({ err: error }, 'the signer could not become active and tries again')
    return null
  }
}

/** A connection that holds the lock, or null where another one does. */
async function takeLock(pool: Pool): Promise<pg.PoolClient | null> {
  const client = await pool.connect()
  let locked = false
  try {
    // The pool listens for errors of idle connections only; this one is held, and the next query fails.
    client.on('error', () => {})
    await confirmLockSession(client)
    const { rows } = await client.query<{ locked: boolean }>('select pg_try_advisory_lock($1) as locked', [
      SIGNER_LOCK_KEY,
    ])
    locked = rows[0]?.locked === true
    return locked ? client : null
  } finally {
    if (!locked) client.release(true)
  }
}

async function activateOrRelease(state: State, client: pg.PoolClient): Promise<void> {
  try {
    await activate(state)
  } catch (error) {
    await releaseLock(state, client)
    throw error
  }
}

/** Gives the lock back at once. The connection is closed and not returned, so that the lock goes with it in any case. */
async function releaseLock(state: State, client: pg.PoolClient): Promise<void> {
  try {
    await client.query('select pg_advisory_unlock($1)', [SIGNER_LOCK_KEY])
  } catch (error) {
    state.options.log.debug({ err: error }, 'the lock was gone with its connection')
  }
  client.release(true)
}

async function activate(state: State): Promise<void> {
  const { pool, clock, log } = state.options
  // Before the accounts stand, nobody can derive an address; where they stand already, this comes first.
  const journal = await readJournal(state.folder)
  const movedOn = await moveOnAfterRestore(pool, journal)
  for (const moved of movedOn) {
    log.warn(
      moved,
      'the database is older than the signer remembers: its pool was emptied and its index moved on',
    )
  }
  const { accounts, issuer, solana, spenders } = await openAccounts(state)
  await publish(state, { accounts, issuer }, journal)
  const sealKey = await openSealKey(state.folder)
  await writeAddressKeys(
    state.options.addressKeysFile,
    new Map<string, Uint8Array>([
      ...accounts.map(({ keyspace, batchKey }) => [keyspace, batchKey] as const),
      [SEAL_KEY_NAME, sealKeyOf(sealKey)],
    ]),
  )
  state.issuer = issuer
  const { folder } = state
  const payoutJournal = await PayoutJournal.open(folder)
  const seen = await FirstSeen.open(folder)
  const limits = await readValueLimits(folder)
  state.destinations = new KnownDestinations({ pool, clock, log, seen })
  state.payouts = {
    pool,
    clock,
    log,
    folder,
    staging: state.options.staging === true,
    approvalKeyFile: state.options.approvalKeyFile,
    journal: payoutJournal,
    seen,
    limits,
    accounts: spenders,
    solana,
    approvers: {
      memory: await ApprovalMemory.open(folder),
      sealKey,
      baseUrl: state.options.baseUrl,
    },
    alerts: new DeduplicatedLog(),
  }
  state.approvers = new ApproverWatch()
  state.status = 'active'
  log.info({ at: clock().toISOString() }, 'the signer is active')
}

async function openAccounts(state: State): ReturnType<typeof openAccountsOf> {
  const { pool, clock, log } = state.options
  let entropy = await openSeed(state.folder, state.keySource)
  if (entropy === null) {
    // With a new seed beside an old database nobody would hold the keys of the addresses already given out.
    if ((await listAccountKeys(pool)).length > 0) {
      throw new SignerRefused(
        `the database has account keys and ${state.folder} has no seed: restore seed.json and its key from the backup`,
      )
    }
    entropy = await createSeed(state.folder, state.keySource, clock)
    log.info(
      { folder: state.folder },
      'the signer made a new seed; back up this folder and the key that opens it',
    )
  }
  try {
    return await openAccountsOf(wordsOf(entropy))
  } finally {
    entropy.fill(0)
  }
}

async function publish(
  state: State,
  { accounts, issuer }: { accounts: readonly Account[]; issuer: AddressIssuer },
  journal: IndexMarks,
): Promise<void> {
  const { pool, clock } = state.options
  for (const account of accounts) {
    // Where the journal knows an account that the database does not, the whole database was lost.
    const nextIndex = indexBeyond(journal.get(account.keyspace))
    await insertAccountKey(pool, { ...account, nextIndex }, clock())
  }
  const published = new Map((await listAccountKeys(pool)).map((row) => [row.keyspace, row]))
  for (const account of accounts) {
    const row = published.get(account.keyspace)
    if (row === undefined || !isSameAccount(row, account)) {
      throw new SignerRefused(
        `the database's account key of ${account.keyspace} is not from the seed in ${state.folder}: this seed belongs to another database`,
      )
    }
    if (row.batchKey !== null) continue
    // The key stands for all that was signed, so it is published last: a signer that stops here begins again.
    await issuer.signExisting(pool, account.keyspace, clock)
    await setBatchKey(pool, account.keyspace, account.batchKey)
  }
}

const isSameAccount = (row: AccountKeyRow, account: Account): boolean =>
  row.xpub === account.xpub &&
  row.path === account.path &&
  (row.batchKey === null || Buffer.from(row.batchKey).equals(account.batchKey))

/** Addresses for the pools, before they run out. */
async function issue({ options, issuer }: State): Promise<void> {
  if (issuer === null) return
  const issued = await issuer.issue(options.pool, options.clock)
  if (issued === 0) return
  options.log.info({ issued }, 'the signer issued addresses')
  await notifyActivity(options.pool)
}
