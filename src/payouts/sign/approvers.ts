import { createHash, randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { COOL_OFF_MS, NEVER_COUNTS } from '../../core/payout/payout-limits.ts'
import type { Pool } from '../../postgres/pool.ts'
import { createPrivateFile, readPrivateFile } from '../../signer/private-file.ts'
import { SignerRefused } from '../../signer/refused.ts'
import { saveApproverSightings } from '../store/approver-sightings.ts'
import {
  type ApproverCredential,
  lastMemberOfPage,
  listApproverCredentials,
  listCredentialsOf,
  saveApproverSeen,
} from '../store/approvers.ts'
import { hasBegunList, saveBegunList } from '../store/destination-sightings.ts'
import type { FirstSeen } from './first-seen.ts'
import type { SigningContext } from './signing-context.ts'

/** After an upgrade the API seals the secrets of the authenticator apps that were there: so long they count at once. */
const UPGRADE_MS = 3_600_000
/** Owners and admins checked in one turn; the next turn continues with the others. */
const PAGE = 100
/** Credentials kept since the list began, of one merchant and of all: the file only grows, and rows can be planted. */
const OF_MERCHANT_MAX = 500
const IN_ALL_MAX = 200_000
/**
 * New credentials accepted in so long: fewer than delivery warns of in the same time, so that thousands of planted rows keep
 * no other's warning waiting until it counts. The rest wait for a later look.
 */
const NEW_MAX = 2
const NEW_WITHIN_MS = 10_000

const SEAL_KEY_BYTES = 32
const OWNER_LENGTH_MAX = 100
/** The kind of these lines in the signer's file. */
export const APPROVER = 'approver'
const UPGRADED = 'approvers of an upgrade'
/** Credentials that counted and that the database held no longer, with how often that happened. */
const GONE = 'approver gone'
/** Authenticator apps of those whose passkey counted: with the passkey gone they must not count again. */
const REPLACED = 'replaced authenticator app'
/** Stands where a merchant's id does in what is known of an operator's credential. */
export const OPERATOR = 'operator'
const BEFORE_THE_LIST = new Date(0)
const NEVER = new Date(8.64e15)

/** Secrets and codes of authenticator apps are sealed to this private key. Created once, in the signer's own folder. */
export async function openSealKey(folder: string): Promise<Buffer> {
  const path = join(folder, 'approver-seal-key')
  const kept = await readPrivateFile(path)
  if (kept === null) {
    const made = randomBytes(SEAL_KEY_BYTES)
    await createPrivateFile(path, `${made.toString('hex')}\n`)
    return made
  }
  const key = Buffer.from(kept.toString('utf8').trim(), 'hex')
  if (key.length === SEAL_KEY_BYTES) return key
  throw new SignerRefused(
    `${path} is damaged: restore it from a backup, or delete it: authenticator apps approve again a day later`,
  )
}

/**
 * A credential as it was seen with a member of a merchant. It becomes another one when its public key or sealed secret
 * changes, or when the role is lost and granted again.
 */
function sightingKey(credential: ApproverCredential): string {
  const { merchantId, memberId, personId, id, kind } = credential
  const parts =
    credential.kind === 'passkey'
      ? [credential.credentialId, credential.publicKey.toString('hex')]
      : [credential.sealed?.toString('hex') ?? '']
  const text = JSON.stringify([merchantId, memberId, personId, kind, id, ...parts])
  return `${merchantId.slice(0, OWNER_LENGTH_MAX)} ${createHash('sha256').update(text).digest('hex')}`
}

/**
 * What the signer's list knows a credential by now. One that was gone and came back is another: its row may be the old one,
 * put back by somebody who was taken out. The database counts what went between two looks.
 */
export function listedKey(seen: FirstSeen, credential: ApproverCredential): string {
  const { timesGone } = credential
  const first = `${sightingKey(credential)}${timesGone === 0 ? '' : `/${timesGone}`}`
  let key = first
  for (let times = 1; seen.since(GONE, key) !== null; times++) key = `${first} ${times}`
  return key
}

/**
 * Keeps that credentials are gone: those on the list since before a look began that this look did not find. `isLookedAt`
 * says by a key's owner whether the look was for it.
 */
export async function noteGone(
  seen: FirstSeen,
  look: { readonly found: ReadonlySet<string>; readonly began: Date; readonly now: Date },
  isLookedAt: (owner: string) => boolean,
): Promise<void> {
  const gone = seen
    .keysBefore(APPROVER, look.began)
    .filter(
      (key) =>
        isLookedAt(key.split(' ', 1)[0] ?? '') && !look.found.has(key) && seen.since(GONE, key) === null,
    )
  await seen.note(
    GONE,
    gone.map((key) => ({ key, seenAt: look.now })),
  )
}

type ApproverDeps = Pick<SigningContext, 'pool' | 'clock' | 'seen' | 'log' | 'alerts'>

/** Whether a passkey that counted replaced this app: deleting the passkey must not bring the app back. */
export const isReplaced = (seen: FirstSeen, credential: ApproverCredential): boolean =>
  seen.since(REPLACED, sightingKey(credential)) !== null

/** From when a credential approves, a day later as with a new destination; null where the signer has not seen it. */
function countsFrom(seen: FirstSeen, credential: ApproverCredential): Date | null {
  if (isReplaced(seen, credential)) return NEVER_COUNTS
  const since = seen.since(APPROVER, listedKey(seen, credential))
  if (since === null || since.getTime() === BEFORE_THE_LIST.getTime()) return since
  return new Date(since.getTime() + COOL_OFF_MS)
}

/**
 * Keeps since when the signer knows the owners' and admins' credentials, a page of them a turn. Those of before there was
 * such a list are taken as they are, once.
 */
export class ApproverWatch {
  #after = ''
  /** The database may have forgotten what was written to it before this signer started. */
  #isFirstRound = true
  /** What this round found, by its key on the list. */
  readonly #found = new Set<string>()
  #roundBegan: Date | null = null

  /** Whether it is amid a round, with the next page to look at. */
  get hasMore(): boolean {
    return this.#roundBegan !== null
  }

  async look(deps: ApproverDeps): Promise<void> {
    const { seen } = deps
    if (!seen.hasBegun(APPROVER)) await beginList(deps)
    if (this.#isFirstRound) await saveBegunList(deps.pool, APPROVER, deps.clock())
    const began = this.#roundBegan ?? deps.clock()
    this.#roundBegan = began
    const last = await lastMemberOfPage(deps.pool, this.#after, PAGE)
    const page = last === null ? [] : await listApproverCredentials(deps.pool, this.#after, PAGE)
    await note(deps, page)
    if (this.#isFirstRound) await publish(deps, page)
    for (const one of page) this.#found.add(listedKey(seen, one))
    this.#after = last ?? ''
    if (last !== null) return
    await noteGone(seen, { found: this.#found, began, now: deps.clock() }, (owner) => owner !== OPERATOR)
    this.#isFirstRound = false
    this.#found.clear()
    this.#roundBegan = null
  }
}

/** What a person approves a merchant's payouts by, noted first, so that it need not wait for its turn. */
export async function credentialsOf(
  deps: ApproverDeps,
  merchantId: string,
  personId: string,
): Promise<ApproverCredential[]> {
  const credentials = await listCredentialsOf(deps.pool, merchantId, personId)
  await note(deps, credentials)
  return credentials
}

/** Begins with what is there where no list was ever begun, and with nothing where one was lost. */
async function beginList({ pool, clock, seen, log }: ApproverDeps): Promise<void> {
  const now = clock()
  const isLost = await hasBegunList(pool, APPROVER)
  const known = isLost ? [] : await listAll(pool)
  if (isLost)
    log.error(
      'the signer has lost its list of approvers (first-seen.jsonl): live payouts can be approved when it has known their credentials for a day again',
    )
  if (known.length > 0)
    await seen.note(UPGRADED, [{ key: 'until', seenAt: new Date(now.getTime() + UPGRADE_MS) }])
  const trusted = known.filter(isWhole).map((one) => ({ key: listedKey(seen, one), seenAt: BEFORE_THE_LIST }))
  await seen.begin(APPROVER, trusted, now)
}

async function listAll(pool: Pool): Promise<ApproverCredential[]> {
  const known: ApproverCredential[] = []
  for (let after: string | null = ''; after !== null; ) {
    known.push(...(await listApproverCredentials(pool, after, PAGE)))
    after = await lastMemberOfPage(pool, after, PAGE)
  }
  return known
}

const isWhole = (credential: ApproverCredential): boolean =>
  credential.kind === 'passkey' || credential.sealed !== null

const ownerOf = ({ merchantId }: ApproverCredential): string => merchantId.slice(0, OWNER_LENGTH_MAX)

/**
 * Those that are taken up now. What the list has no room for is logged once per merchant, and never counts; what is beyond
 * the pace of warnings comes later. `isWarnedOf`: what counts at once is no news.
 */
function withinBounds(
  { seen, log, alerts }: ApproverDeps,
  unknown: readonly ApproverCredential[],
  { now, isWarnedOf }: { readonly now: Date; readonly isWarnedOf: (one: ApproverCredential) => boolean },
): ApproverCredential[] {
  const added = new Map<string, number>()
  let inAll = 0
  let warnings = seen.countBetween(APPROVER, new Date(now.getTime() - NEW_WITHIN_MS), now)
  return unknown.filter((one) => {
    if (seen.since(APPROVER, listedKey(seen, one)) !== null) return true
    const owner = ownerOf(one)
    const { all, ofWord } = seen.counts(APPROVER, owner)
    const here = added.get(owner) ?? 0
    const hasRoom = ofWord + here < OF_MERCHANT_MAX && all + inAll < IN_ALL_MAX
    if (!hasRoom && alerts.isNew(owner, FULL)) log.error({ merchantId: owner }, FULL)
    const isNews = isWarnedOf(one)
    if (!hasRoom || (isNews && warnings >= NEW_MAX)) return false
    added.set(owner, here + 1)
    inAll++
    if (isNews) warnings++
    return true
  })
}

const FULL =
  'the list of approvers (first-seen.jsonl) has no room for more of a merchant’s passkeys and authenticator apps, and new ones never count: somebody may have planted rows. Take them out; then stop the signer, remove the lines of that merchant’s id from the file, and start it'

async function note(deps: ApproverDeps, found: readonly ApproverCredential[]): Promise<void> {
  const { pool, clock, seen } = deps
  const credentials = found.filter(isWhole)
  const now = clock()
  // Seen in the future: the clock was ahead then.
  const isNew = (one: ApproverCredential) => (seen.since(APPROVER, listedKey(seen, one)) ?? NEVER) > now
  const upgradeEnds = seen.since(UPGRADED, 'until')
  const isUpgrading = upgradeEnds !== null && now < upgradeEnds
  // Passkeys that were there before were whole at once, and are on the list.
  const isWarnedOf = ({ kind }: ApproverCredential) => !(isUpgrading && kind === 'totp')
  const unknown = withinBounds(deps, credentials.filter(isNew), { now, isWarnedOf })
  const replaced = newlyReplaced(seen, credentials, now)
  await seen.note(
    REPLACED,
    replaced.map((one) => ({ key: sightingKey(one), seenAt: now })),
  )
  if (replaced.length > 0) await publish({ pool, seen }, replaced)
  if (unknown.length === 0) return
  await seen.note(
    APPROVER,
    unknown.map((one) => ({ key: listedKey(seen, one), seenAt: isWarnedOf(one) ? now : BEFORE_THE_LIST })),
  )
  await publish({ pool, seen }, unknown)
}

/** Apps whose holder has a passkey that counts in the same shop. */
function newlyReplaced(
  seen: FirstSeen,
  credentials: readonly ApproverCredential[],
  now: Date,
): ApproverCredential[] {
  const holders = new Set(
    credentials
      .filter((one) => one.kind === 'passkey' && isKnownLong(seen, one, now))
      .map(({ memberId }) => memberId),
  )
  return credentials.filter(
    (one) =>
      one.kind === 'totp' &&
      holders.has(one.memberId) &&
      // Within the bounds of that list.
      seen.since(APPROVER, listedKey(seen, one)) !== null &&
      !isReplaced(seen, one),
  )
}

export function isKnownLong(seen: FirstSeen, credential: ApproverCredential, now: Date): boolean {
  const from = countsFrom(seen, credential)
  return from !== null && from <= now
}

/** Reports to the API from when each counts, and to delivery what is new. */
async function publish(
  { pool, seen }: Pick<ApproverDeps, 'pool' | 'seen'>,
  credentials: readonly ApproverCredential[],
): Promise<void> {
  const rows = credentials.filter(isWhole).flatMap((one) => {
    const from = countsFrom(seen, one)
    const isNew = from !== null && from > BEFORE_THE_LIST
    return from === null ? [] : [{ ...one, fingerprint: listedKey(seen, one), countsFrom: from, isNew }]
  })
  if (rows.length === 0) return
  await saveApproverSightings(
    pool,
    rows.filter(({ countsFrom: from }) => from < NEVER_COUNTS),
  )
  await saveApproverSeen(pool, rows)
}
