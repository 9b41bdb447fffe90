import { setTimeout as pause } from 'node:timers/promises'
import type { Pool } from '../../src/postgres/pool.ts'

export const ANSWER_MS_MAX = 30_000
const BETWEEN_MS = 20

/** Waits in a test that itself moves the watcher, the signer and the chain on: `turn` gives each of them one turn. */
export function takingTurns(turn: () => Promise<void>) {
  /** What is settled is looked at every few seconds only. */
  const turnsUntil = async (isSo: () => boolean | Promise<boolean>): Promise<void> => {
    const until = performance.now() + ANSWER_MS_MAX
    while (!(await isSo()) && performance.now() < until) {
      await turn()
      await pause(BETWEEN_MS)
    }
  }
  /** Answers, while everybody takes their turns. */
  const answered = async <Answer>(asked: Promise<Answer>): Promise<Answer> => {
    let isAnswered = false
    const done = asked.finally(() => {
      isAnswered = true
    })
    done.catch(() => {})
    await turnsUntil(() => isAnswered)
    return done
  }
  return { turnsUntil, answered }
}

/** What stands in the database of an invoice's x402 payments, in order. */
export const storedX402 = async (owner: Pool, invoiceId: string) =>
  (
    await owner.query<{ status: string; reason: string | null; transactions: number }>(
      `select a.status, a.reason, (select count(*)::int from x402_transaction t where t.authorization_id = a.id) as transactions
       from x402_authorization a where a.invoice_id = $1 order by a.id`,
      [invoiceId],
    )
  ).rows
