import type { Queryable } from '../../postgres/pool.ts'

/**
 * After a restore: what was approved and not signed when the backup was made may have been signed and sent since.
 * These payouts wait for approval again, so that a person looks first. `isSigned`: the signer's journal has it, and the
 * same bytes are sent once more. Returns their ids. A walk of the open payouts.
 */
export async function withdrawUnsignedApprovals(
  db: Queryable,
  isSigned: (payoutId: string) => boolean,
): Promise<readonly string[]> {
  const { rows } = await db.query<{ id: string }>(
    `select id from payout where status = 'approved'
       and not exists (select from payout_transaction t where t.payout_id = payout.id) order by id`,
  )
  const unsigned = rows.map(({ id }) => id).filter((id) => !isSigned(id))
  await db.query('delete from payout_approval where payout_id = any($1)', [unsigned])
  await db.query(
    `update payout set status = 'requested', approved_by = null, approved_at = null where id = any($1)`,
    [unsigned],
  )
  return unsigned
}
