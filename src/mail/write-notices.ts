import {
  eventsForNotice,
  forgetFormerManagers,
  leaseNotices,
  listFormerAddresses,
  listLeavingManagers,
  listManagers,
  listUnannouncedDestinations,
  markDestinationNotified,
  markManagerLeft,
  type NoticedEvent,
  newestEventId,
  noteManagers,
  noticeAddressees,
  releaseNotices,
  takeStoppedEndpoints,
  WARNED_MAX,
} from '../db/people/notices.ts'
import { listUnnotifiedApprovers, markApproverNotified } from '../payouts/store/approver-sightings.ts'
import type { Pool } from '../postgres/pool.ts'
import type { Log } from '../runtime/log.ts'
import { newId } from '../runtime/new-id.ts'
import { repeat } from '../runtime/repeat.ts'
import type { Mail } from './mail.ts'
import {
  approverEmail,
  destinationEmail,
  endpointEmail,
  formerManagerEmail,
  invoiceEmail,
} from './notice-emails.ts'

type NoticeDeps = {
  readonly pool: Pool
  readonly mail: Mail
  readonly log: Log
  readonly baseUrl: string
}

const EVERY_MS = 10_000
/** Longer than a round takes; a process that dies with the lease holds the others up no longer. */
const LEASE_SECONDS = 120
/** No transaction of ours is open longer (statements end after 30 seconds). */
const SETTLE_SECONDS = 60
const EVENTS_MAX = 200
/** Further than this the clocks of two machines are never apart. */
const AHEAD_MS = 3_600_000
const ENDPOINTS_MAX = 50
/** Few, so that the mail server takes all of them: this email has no second one. */
const DESTINATIONS_MAX = 5
const APPROVERS_MAX = 5
/** Managers noted in a round; the next goes on. */
const MANAGERS_MAX = 500
const LEAVING_MAX = 5
/** So long warnings go to former addresses too: longer than what is warned of takes to count. */
const FORMER_DAYS = 7

/**
 * One round of emails about new destinations and approvers, live payments and stopped endpoints, by whichever process has
 * the lease. Returns how many were handed to the mail. The first round of an installation starts at the newest event.
 */
export async function writeNotices(deps: NoticeDeps, settleSeconds = SETTLE_SECONDS): Promise<number> {
  const { pool, mail, baseUrl } = deps
  const lease = await leaseNotices(pool, LEASE_SECONDS)
  if (lease === null) return 0
  let reached = lease.eventId
  let emails = 0
  try {
    emails += await writeOfManagers(deps)
    emails += await writeOfDestinations(deps)
    emails += await writeOfApprovers(deps)
    const beforeId = newId('event', new Date(Date.now() + AHEAD_MS))
    if (reached === '') reached = (await newestEventId(pool, beforeId)) ?? 'evt_'
    else {
      const events = await eventsForNotice(pool, {
        afterId: reached,
        beforeId,
        settleSeconds,
        limit: EVENTS_MAX,
      })
      for (const event of events) {
        emails += await writeOne(deps, event)
        reached = event.id
      }
    }
    for (const { merchantId, url } of await takeStoppedEndpoints(pool, ENDPOINTS_MAX)) {
      for (const addressee of await noticeAddressees(pool, merchantId, 'endpoint_disabled')) {
        await mail.send(endpointEmail(baseUrl, url, addressee), merchantId)
        emails += 1
      }
    }
  } finally {
    await releaseNotices(pool, reached)
  }
  return emails
}

/** Emails about one event. One whose body cannot be read keeps nobody else's from being written. */
async function writeOne({ pool, mail, log, baseUrl }: NoticeDeps, event: NoticedEvent): Promise<number> {
  let message: ReturnType<typeof invoiceEmail>
  try {
    message = invoiceEmail(baseUrl, event.body)
  } catch (error) {
    log.error({ err: error, eventId: event.id }, 'no email was written about an event: it cannot be read')
    return 0
  }
  const addressees = await noticeAddressees(pool, event.merchantId, message.kind)
  for (const addressee of addressees) await mail.send(message.emailTo(addressee), event.merchantId)
  return addressees.length
}

/**
 * Emails people who are no longer owner or admin, at their old address: an address that was changed in the database
 * must not take the warnings with it unseen.
 */
async function writeOfManagers({ pool, mail, log, baseUrl }: NoticeDeps): Promise<number> {
  await forgetFormerManagers(pool, FORMER_DAYS)
  await noteManagers(pool, MANAGERS_MAX)
  const leaving = await listLeavingManagers(pool, LEAVING_MAX)
  let emails = 0
  for (const { merchantId, personId, email } of leaving) {
    if (!hasRoom(mail)) break
    log.warn({ merchantId, personId }, 'an owner or admin left, or has another email address')
    await mail.send(formerManagerEmail(baseUrl, merchantId, email))
    await markManagerLeft(pool, { merchantId, personId, email })
    emails += 1
  }
  return emails
}

/** A warning that the queue has no room for is written in a later round: it has no second one. */
const hasRoom = ({ hasRoom = () => true }: Mail): boolean => hasRoom(2 * WARNED_MAX)

/** Owners and admins, and where they were until some days ago, of each as many as are warned, those known longest. */
async function warnedOf(pool: Pool, merchantId: string): Promise<{ email: string; name: string }[]> {
  const managers = await listManagers(pool, merchantId)
  const former = await listFormerAddresses(pool, merchantId)
  const added = former.filter((email) => !managers.some((one) => one.email === email))
  return [...managers, ...added.map((email) => ({ email, name: '' }))]
}

/**
 * Emails about new live destinations. A crash in between repeats one, and loses none; they wait in no queue behind the
 * merchant's other emails.
 */
async function writeOfDestinations({ pool, mail, baseUrl }: NoticeDeps): Promise<number> {
  let emails = 0
  for (const destination of await listUnannouncedDestinations(pool, DESTINATIONS_MAX)) {
    if (!hasRoom(mail)) break
    for (const manager of await warnedOf(pool, destination.merchantId)) {
      await mail.send(destinationEmail(baseUrl, destination, manager))
      emails += 1
    }
    await markDestinationNotified(pool, destination)
  }
  return emails
}

/** Emails about new credentials that can approve live payouts, as those about destinations. */
async function writeOfApprovers({ pool, mail, baseUrl }: NoticeDeps): Promise<number> {
  let emails = 0
  for (const approver of await listUnnotifiedApprovers(pool, APPROVERS_MAX)) {
    if (!hasRoom(mail)) break
    for (const manager of await warnedOf(pool, approver.merchantId)) {
      await mail.send(approverEmail(baseUrl, approver, manager))
      emails += 1
    }
    await markApproverNotified(pool, approver.fingerprint)
  }
  return emails
}

/** Writes emails round after round until it is stopped. */
export const startNotices = (deps: NoticeDeps): { stop(): Promise<void> } =>
  repeat(() => writeNotices(deps), {
    everyMs: EVERY_MS,
    firstMs: EVERY_MS,
    onError: (error) =>
      deps.log.warn({ err: error }, 'emails could not be written; the next round tries again'),
  })
