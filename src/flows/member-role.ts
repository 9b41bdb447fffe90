import type { AccessSeals } from '../core/people/access-seals.ts'
import { findMembership } from '../db/people/access-rows.ts'
import type { MemberRole } from '../db/people/people.ts'
import type { Queryable } from '../postgres/pool.ts'

/** The role a person has with a merchant; null where none, or where Paylink did not give it. */
export async function findMemberRole(
  db: Queryable,
  seals: AccessSeals,
  input: { userId: string; merchantId: string },
): Promise<MemberRole | null> {
  const member = await findMembership(db, input)
  return member !== null && seals.accepts('member', member) ? member.role : null
}
