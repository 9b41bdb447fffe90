import type { Queryable } from '../../postgres/pool.ts'
import type { Tx } from '../../postgres/transaction.ts'

export type MemberRole = 'owner' | 'admin' | 'member' | 'viewer'

/** The merchant a person sees first: the one joined longest ago. Served by organization_member_by_user. */
export async function findFirstMerchant(db: Queryable, userId: string): Promise<string | null> {
  const { rows } = await db.query<{ organization_id: string }>(
    `select organization_id from organization_member where user_id = $1 order by created_at, organization_id limit 1`,
    [userId],
  )
  return rows[0]?.organization_id ?? null
}

/** The organization of a new merchant, under the merchant's own id, and its first owner. */
export async function insertOrganization(
  db: Queryable,
  input: { merchantId: string; name: string; memberId: string; ownerId: string; seal: string; now: Date },
): Promise<void> {
  await db.query(`insert into organization (id, name, slug, created_at) values ($1, $2, $1, $3)`, [
    input.merchantId,
    input.name,
    input.now,
  ])
  await db.query(
    `insert into organization_member (id, organization_id, user_id, role, seal, created_at)
     values ($1, $2, $3, 'owner', $4, $5)`,
    [input.memberId, input.merchantId, input.ownerId, input.seal, input.now],
  )
}

/** How many organizations a person belongs to. The person's row is locked, so that two at once count one another. */
export async function countMemberships(db: Queryable, userId: string): Promise<number> {
  await db.query(`select from person where id = $1 for update`, [userId])
  const { rows } = await db.query<{ count: number }>(
    `select count(*) as count from organization_member where user_id = $1`,
    [userId],
  )
  return rows[0]?.count ?? 0
}

/** Which merchant a sign-in shows. By primary key. */
export async function setActiveMerchant(
  db: Queryable,
  input: { sessionId: string; merchantId: string; personId: string },
): Promise<void> {
  await db.query(`update person_session set active_organization_id = $2 where id = $1 and user_id = $3`, [
    input.sessionId,
    input.merchantId,
    input.personId,
  ])
}

/** Whose membership an id is, in one organization; null where none of it. By primary key. */
export async function findMemberPerson(
  db: Queryable,
  input: { memberId: string; merchantId: string },
): Promise<string | null> {
  const { rows } = await db.query<{ user_id: string }>(
    `select user_id from organization_member where id = $1 and organization_id = $2`,
    [input.memberId, input.merchantId],
  )
  return rows[0]?.user_id ?? null
}

/** To which merchant an invitation leads, and whom. By primary key. */
export async function findInvitation(
  db: Queryable,
  id: string,
): Promise<{ merchantId: string; email: string } | null> {
  const { rows } = await db.query<{ organization_id: string; email: string }>(
    `select organization_id, email from organization_invitation where id = $1`,
    [id],
  )
  const found = rows[0]
  return found === undefined ? null : { merchantId: found.organization_id, email: found.email }
}

/**
 * Counts one guess before it is evaluated; false where the subject has had its guesses of this window. One row
 * a subject, whose lock puts guesses that come at once in a row: a thousand of them are `max`.
 */
export async function takeGuess(
  db: Queryable,
  input: { subject: string; max: number; windowSeconds: number; now: Date },
): Promise<boolean> {
  const { rowCount } = await db.query(
    `insert into secret_guess as known (subject, guesses, since) values ($1, 1, $4)
     on conflict (subject) do update
       set guesses = case when known.since <= $4 - make_interval(secs => $3) then 1 else known.guesses + 1 end,
           since = case when known.since <= $4 - make_interval(secs => $3) then $4 else known.since end
       where known.since <= $4 - make_interval(secs => $3) or known.guesses < $2`,
    [input.subject, input.max, input.windowSeconds, input.now],
  )
  return rowCount === 1
}

/** A right answer wipes the wrong ones before it. By primary key. */
export async function forgetGuesses(db: Queryable, subject: string): Promise<void> {
  await db.query(`delete from secret_guess where subject = $1`, [subject])
}

/** Whether a person with this address, in lower case, signed in from there before. By primary keys. */
export async function isKnownPlace(db: Queryable, input: { email: string; place: string }): Promise<boolean> {
  const { rowCount } = await db.query(
    `select from person_place where place = $2 and user_id = (select id from person where email = $1)`,
    [input.email, input.place],
  )
  return rowCount === 1
}

/** Notes from where a person signed in, and forgets where they did not for `keepDays`. By primary key. */
export async function noteKnownPlace(
  db: Queryable,
  input: { userId: string; place: string; keepDays: number; now: Date },
): Promise<void> {
  await db.query(
    `with forgotten as (
       delete from person_place where user_id = $1 and seen_at < $4::timestamptz - make_interval(days => $3))
     insert into person_place (user_id, place, seen_at) values ($1, $2, $4)
     on conflict (user_id, place) do update set seen_at = excluded.seen_at`,
    [input.userId, input.place, input.keepDays, input.now],
  )
}

/**
 * Notes that a code was presented; false where it was before. Codes are forgotten after `keepSeconds`, which
 * is longer than any code is valid.
 */
export async function presentCode(
  db: Queryable,
  input: { userId: string; codeHash: Uint8Array; keepSeconds: number; now: Date },
): Promise<boolean> {
  await db.query(
    `delete from presented_code where presented_at < $1::timestamptz - make_interval(secs => $2)`,
    [input.now, input.keepSeconds],
  )
  const { rowCount } = await db.query(
    `insert into presented_code (user_id, code_hash, presented_at) values ($1, $2, $3)
     on conflict (user_id, code_hash) do nothing`,
    [input.userId, Buffer.from(input.codeHash), input.now],
  )
  return rowCount === 1
}

/** Where to write about sign-ins; null for whoever refused that in every shop of theirs, or never confirmed the address. Served by organization_member_by_user. */
export async function findPersonToNotify(
  db: Queryable,
  userId: string,
): Promise<{ email: string; name: string } | null> {
  const { rows } = await db.query<{ email: string; name: string }>(
    `with wanted as (
       select not exists (select from notice_refusal
                          where merchant_id = organization_id and user_id = $1 and kind = 'sign_in') as is_wanted
       from organization_member where user_id = $1)
     select email, name from person
     where id = $1 and email_verified and coalesce((select bool_or(is_wanted) from wanted), true)`,
    [userId],
  )
  return rows[0] ?? null
}

/**
 * The person with an address in lower case, created if there was none (`isNew`). One statement, so that two
 * at once make one. By the unique address.
 */
export async function findOrInsertPerson(
  db: Queryable,
  person: { id: string; name: string; email: string; isEmailVerified: boolean; seal: string; now: Date },
): Promise<{ id: string; isNew: boolean }> {
  const { rows } = await db.query<{ id: string }>(
    `insert into person (id, name, email, email_verified, seal, created_at, updated_at)
     values ($1, $2, $3, $4, $5, $6, $6)
     on conflict (email) do update set email = excluded.email
     returning id`,
    [person.id, person.name, person.email, person.isEmailVerified, person.seal, person.now],
  )
  const id = rows[0]?.id ?? person.id
  return { id, isNew: id === person.id }
}

/** Gives a person a password, hashed already; as the sign-in library keeps it. */
export async function insertPassword(
  db: Queryable,
  account: { id: string; userId: string; password: string; seal: string; now: Date },
): Promise<void> {
  await db.query(
    `insert into person_account (id, user_id, account_id, provider_id, password, seal, created_at, updated_at)
     values ($1, $2, $2, 'credential', $3, $4, $5, $5)`,
    [account.id, account.userId, account.password, account.seal, account.now],
  )
}

/** A token by which a person chooses a password once; as the sign-in library keeps those of its own emails. */
export async function insertPasswordToken(
  db: Queryable,
  row: { id: string; userId: string; identifier: string; seal: string; expiresAt: Date; now: Date },
): Promise<void> {
  await db.query(
    `insert into person_verification (id, identifier, value, expires_at, seal, created_at, updated_at)
     values ($1, $2, $3, $4, $5, $6, $6)`,
    [row.id, row.identifier, row.userId, row.expiresAt, row.seal, row.now],
  )
}

/** Whether an invitation to this address, in lower case, can be accepted now. Served by organization_invitation_by_email. */
export async function isInvited(db: Queryable, email: string, now: Date): Promise<boolean> {
  const { rowCount } = await db.query(
    `select from organization_invitation where email = $1 and status = 'pending' and expires_at > $2 limit 1`,
    [email, now],
  )
  return rowCount === 1
}

/** Ends a person's sign-ins. Served by person_session_by_user. */
export async function deleteSessionsOf(tx: Tx, personId: string): Promise<void> {
  await tx.query('delete from person_session where user_id = $1', [personId])
}

/** Deletes a person's passkeys; their ids. Served by person_passkey_by_user. */
export async function deletePasskeysOf(tx: Tx, personId: string): Promise<string[]> {
  const { rows } = await tx.query<{ id: string }>(
    'delete from person_passkey where user_id = $1 returning id',
    [personId],
  )
  return rows.map(({ id }) => id)
}

/** Deletes a person's authenticator apps with their backup codes; their ids. Served by the index on user_id. */
export async function deleteTwoFactorsOf(tx: Tx, personId: string): Promise<string[]> {
  const { rows } = await tx.query<{ id: string }>(
    'delete from person_two_factor where user_id = $1 returning id',
    [personId],
  )
  return rows.map(({ id }) => id)
}

/** Notes that a person has no authenticator app, unless somebody changed the row meanwhile. By primary key. */
export async function saveWithoutTwoFactor(
  tx: Tx,
  { personId, seal, sealBefore }: { personId: string; seal: string; sealBefore: string },
): Promise<void> {
  await tx.query(
    'update person set two_factor_enabled = false, seal = $2, updated_at = now() where id = $1 and seal = $3',
    [personId, seal, sealBefore],
  )
}

/** Whether a person has a password. Served by person_account's index on user_id. */
export async function hasPassword(tx: Tx, personId: string): Promise<boolean> {
  const { rowCount } = await tx.query(
    'select from person_account where user_id = $1 and password is not null limit 1',
    [personId],
  )
  return (rowCount ?? 0) > 0
}
