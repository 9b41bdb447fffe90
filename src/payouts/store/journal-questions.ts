import type { Network } from '../../core/assets.ts'
import type { Queryable } from '../../postgres/pool.ts'
import type { Tenant } from '../../postgres/transaction.ts'

/** A payout or a sweep of which the signer is to publish all that its journal has. */
type JournalQuestion = Tenant & { readonly intentId: string; readonly network: Network }

/**
 * How long an answer of the journal is valid: it knows nothing of what the database forgets when it is restored
 * later.
 */
const ANSWER_COUNTS_MS = 5 * 60_000

/** Asks, or asks again if the answer is old. Returns whether a recent answer was there before this call. By primary key. */
export async function askJournal(
  db: Queryable,
  { merchantId, livemode, intentId, network }: JournalQuestion,
  now: Date,
): Promise<boolean> {
  const { rows } = await db.query<{ answeredAt: Date | null }>(
    `select answered_at as "answeredAt" from journal_question
     where merchant_id = $1 and intent_id = $2`,
    [merchantId, intentId],
  )
  const youngest = new Date(now.getTime() - ANSWER_COUNTS_MS)
  const [question] = rows
  if (question !== undefined && (question.answeredAt === null || question.answeredAt > youngest))
    return question.answeredAt !== null
  await db.query(
    `insert into journal_question as asked (merchant_id, intent_id, livemode, network, asked_at)
     values ($1, $2, $3, $4, $5)
     on conflict (merchant_id, intent_id) do update set asked_at = excluded.asked_at, answered_at = null
     where asked.answered_at <= $6`,
    [merchantId, intentId, livemode, network, now, youngest],
  )
  return false
}

/**
 * What is asked and not answered, longest waiting first. Mode and network are those of the payout or sweep where it is known:
 * a question that says others was asked by nobody of ours. Served by journal_question_open and the primary keys.
 */
export async function listJournalQuestions(db: Queryable, limit: number): Promise<JournalQuestion[]> {
  const { rows } = await db.query<JournalQuestion>(
    `select q.merchant_id as "merchantId", q.intent_id as "intentId",
       coalesce(p.livemode, s.livemode, q.livemode) as livemode, coalesce(p.network, s.network, q.network) as network
     from journal_question q
     left join payout p on p.merchant_id = q.merchant_id and p.id = q.intent_id
     left join sweep s on s.merchant_id = q.merchant_id and s.id = q.intent_id
     where q.answered_at is null order by q.asked_at limit $1`,
    [limit],
  )
  return rows
}

/** By primary key. */
export async function answerJournalQuestion(
  db: Queryable,
  { merchantId, intentId }: JournalQuestion,
  now: Date,
): Promise<void> {
  await db.query(
    `update journal_question set answered_at = $3
     where merchant_id = $1 and intent_id = $2 and answered_at is null`,
    [merchantId, intentId, now],
  )
}

/** Moves a question that could not be answered behind all open ones. By primary key. */
export async function postponeJournalQuestion(
  db: Queryable,
  { merchantId, intentId }: JournalQuestion,
  now: Date,
): Promise<void> {
  await db.query(
    `update journal_question set asked_at = $3
     where merchant_id = $1 and intent_id = $2 and answered_at is null`,
    [merchantId, intentId, now],
  )
}
