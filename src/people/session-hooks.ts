import type { BetterAuthOptions } from 'better-auth'
import { isNewPlace } from '../db/people/notices.ts'
import { findFirstMerchant, findPersonToTell, noteKnownPlace } from '../db/people/people.ts'
import { blockOf, UNKNOWN_BLOCK } from '../http/api/client-address.ts'
import type { Mail } from '../mail/mail.ts'
import { signInEmail } from '../mail/notice-emails.ts'
import type { Pool } from '../postgres/pool.ts'
import type { Clock } from '../runtime/clock.ts'

/** Where nobody signed in for this long, is a strange place again. */
const PLACE_KEEP_DAYS = 180

type SessionDeps = { readonly pool: Pool; readonly clock: Clock; readonly mail: Mail }
type CreateHooks = NonNullable<NonNullable<BetterAuthOptions['databaseHooks']>['session']>['create']

/** A sign-in opens the person's first shop, and is told to them where it came from a new place. */
export function sessionHooks(deps: SessionDeps): NonNullable<CreateHooks> {
  return {
    before: async (session) => {
      if (typeof session.activeOrganizationId === 'string') return
      const activeOrganizationId = await findFirstMerchant(deps.pool, session.userId)
      return { data: { ...session, activeOrganizationId } }
    },
    after: async (session) => {
      await notePlace(deps, session)
      await tellNewPlace(deps, session)
    },
  }
}

/** Where a person has signed in, others' wrong passwords do not count against them. */
async function notePlace(
  { pool, clock }: SessionDeps,
  { userId, ipAddress }: { userId: string; ipAddress?: string | null | undefined },
): Promise<void> {
  const place = blockOf(ipAddress ?? '')
  if (place !== UNKNOWN_BLOCK) {
    await noteKnownPlace(pool, { userId, place, keepDays: PLACE_KEEP_DAYS, now: clock() })
  }
}

/** An e-mail to the person about a sign-in from a browser and address that none before it had. */
async function tellNewPlace(
  { pool, clock, mail }: SessionDeps,
  session: {
    id: string
    userId: string
    ipAddress?: string | null | undefined
    userAgent?: string | null | undefined
  },
): Promise<void> {
  const { id, userId, ipAddress: address = null, userAgent: browser = null } = session
  if (!(await isNewPlace(pool, { id, userId, ipAddress: address, userAgent: browser }))) return
  const person = await findPersonToTell(pool, userId)
  if (person !== null) await mail.send(signInEmail(person, { at: clock(), address, browser }))
}
