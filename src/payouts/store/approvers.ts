import type { Queryable } from '../../postgres/pool.ts'

/** A credential of an owner or admin of a merchant, by which they may approve payouts. */
export type ApproverCredential = {
  readonly merchantId: string
  readonly memberId: string
  readonly personId: string
  /** Of the row that holds it. */
  readonly id: string
  /** How often the member stopped being an owner or admin, by the database's own count. */
  readonly timesGone: number
} & (
  | { readonly kind: 'passkey'; readonly credentialId: string; readonly publicKey: Buffer }
  /** `sealed`: the secret, to the signer's key; null until that is done. */
  | { readonly kind: 'totp'; readonly sealed: Buffer | null }
)

type Row = {
  merchant_id: string
  member_id: string
  person_id: string
  id: string
  times_gone: number
  credential_id: string | null
  public_key: string | null
  sealed: Buffer | null
}

const CREDENTIALS = `
  select m.organization_id as merchant_id, m.id as member_id, m.user_id as person_id, c.id, c.credential_id, c.public_key,
    c.sealed,
    (select count(*)::int from access_gone g where g.what = 'organization_member/' || m.id) as times_gone
  from organization_member m cross join lateral (
    (select p.id, p.credential_id, p.public_key, null::bytea as sealed from person_passkey p
     where p.user_id = m.user_id order by p.id limit 20)
    union all
    (select t.id, null, null, s.sealed from person_two_factor t left join person_totp_seal s on s.two_factor_id = t.id
     where t.user_id = m.user_id and t.verified is not false order by t.id limit 20)) c
  where m.role in ('owner', 'admin')`

function credentialOf(row: Row): ApproverCredential {
  const { merchant_id: merchantId, member_id: memberId, person_id: personId, id, times_gone: timesGone } = row
  const of = { merchantId, memberId, personId, id, timesGone }
  const { credential_id: credentialId, public_key: publicKey, sealed } = row
  return credentialId === null || publicKey === null
    ? { ...of, kind: 'totp', sealed }
    : { ...of, kind: 'passkey', credentialId, publicKey: Buffer.from(publicKey, 'base64') }
}

/**
 * The credentials of the owners and admins that come after a member, in the order of their ids. Served by
 * organization_member's key and the indexes by user.
 */
export async function listApproverCredentials(
  db: Queryable,
  afterMemberId: string,
  limit: number,
): Promise<ApproverCredential[]> {
  const { rows } = await db.query<Row>(
    `${CREDENTIALS} and m.id in (select id from organization_member where id > $1 order by id limit $2) order by m.id`,
    [afterMemberId, limit],
  )
  return rows.map(credentialOf)
}

/** The last of so many members after one; null where there are no more. By primary key. */
export async function lastMemberOfPage(
  db: Queryable,
  afterMemberId: string,
  limit: number,
): Promise<string | null> {
  const { rows } = await db.query<{ last: string | null }>(
    'select max(id) as last from (select id from organization_member where id > $1 order by id limit $2) page',
    [afterMemberId, limit],
  )
  return rows[0]?.last ?? null
}

/** What one person may approve a merchant's payouts by now. Served by the unique key of organization_member. */
export async function listCredentialsOf(
  db: Queryable,
  merchantId: string,
  personId: string,
): Promise<ApproverCredential[]> {
  const { rows } = await db.query<Row>(`${CREDENTIALS} and m.organization_id = $1 and m.user_id = $2`, [
    merchantId,
    personId,
  ])
  return rows.map(credentialOf)
}

/**
 * Says from when the signer takes each credential; of a passkey and an app under one id, which are not ours, the later
 * time. By primary key.
 */
export async function saveApproverSeen(
  db: Queryable,
  seen: readonly { readonly memberId: string; readonly id: string; readonly countsFrom: Date }[],
): Promise<void> {
  await db.query(
    `insert into approver_seen (member_id, credential_id, counts_from)
     select distinct on (s.member_id, s.credential_id) s.* from unnest($1::text[], $2::text[], $3::timestamptz[]) as s (member_id, credential_id, counts_from)
     where exists (select from organization_member m where m.id = s.member_id)
     order by s.member_id, s.credential_id, s.counts_from desc
     on conflict (member_id, credential_id) do update set counts_from = excluded.counts_from`,
    [
      seen.map(({ memberId }) => memberId),
      seen.map(({ id }) => id),
      seen.map(({ countsFrom }) => countsFrom),
    ],
  )
}

/** From when the signer takes each credential of a member, by its id, as far as it has seen them. By primary key. */
export async function loadApproverSeen(db: Queryable, memberId: string): Promise<ReadonlyMap<string, Date>> {
  const { rows } = await db.query<{ id: string; counts_from: Date }>(
    'select credential_id as id, counts_from from approver_seen where member_id = $1',
    [memberId],
  )
  return new Map(rows.map((row) => [row.id, row.counts_from]))
}

/** An approval's evidence as the signer reads it, unchecked. By primary key. */
export async function loadApprovalEvidence(
  db: Queryable,
  { merchantId, id }: { readonly merchantId: string; readonly id: string },
): Promise<{ readonly approver: string; readonly evidence: unknown } | null> {
  const { rows } = await db.query<{ approver: string; evidence: unknown }>(
    'select approver, evidence from payout_approval where merchant_id = $1 and payout_id = $2',
    [merchantId, id],
  )
  return rows[0] ?? null
}

/** Authenticator apps whose secrets are not sealed to this key of the signer yet. Reads person_two_factor, by its key. */
export async function listUnsealedSecrets(
  db: Queryable,
  signerKey: Uint8Array,
  limit: number,
): Promise<string[]> {
  const { rows } = await db.query<{ id: string }>(
    `select t.id from person_two_factor t
     where t.verified is not false
       and not exists (select from person_totp_seal s where s.two_factor_id = t.id and s.signer_key = $1)
     order by t.id limit $2`,
    [Buffer.from(signerKey), limit],
  )
  return rows.map(({ id }) => id)
}

/** Keeps a sealed secret in place of one that was sealed to another key. By primary key. */
export async function saveTotpSeal(
  db: Queryable,
  seal: {
    readonly id: string
    readonly signerKey: Uint8Array
    readonly sealed: Buffer
    readonly now: Date
  },
): Promise<void> {
  await db.query(
    `insert into person_totp_seal (two_factor_id, signer_key, sealed, created_at)
     select id, $2, $3, $4 from person_two_factor where id = $1
     on conflict (two_factor_id) do update
       set signer_key = excluded.signer_key, sealed = excluded.sealed, created_at = excluded.created_at
       where person_totp_seal.signer_key <> excluded.signer_key`,
    [seal.id, Buffer.from(seal.signerKey), seal.sealed, seal.now],
  )
}
