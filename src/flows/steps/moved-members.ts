import type { AccessKind, SealedRow } from '../../core/people/sealed-rows.ts'
import { loadAccessSet, loadSealedRow, loadSealedRowsOf } from '../../db/people/access-rows.ts'
import { insertMember } from '../../db/people/merchant-moves.ts'
import type { Queryable } from '../../postgres/pool.ts'
import type { Tx } from '../../postgres/transaction.ts'
import { newId } from '../../runtime/new-id.ts'
import { StartRefused } from '../../runtime/start-refused.ts'
import { findOrMakeOwner } from './find-or-make-owner.ts'
import type { Cell } from './moved-tables.ts'
import { recordAccess } from './record-access.ts'

type Numbered = Cell & { readonly cell: number }
/** People are known by their addresses: each cell has ids of its own for them. */
type Member = { readonly email: string; readonly role: string }

/** Who belongs to a shop. Throws `StartRefused` where somebody else than Paylink wrote that, or its API keys. */
export async function listMembers(db: Queryable, cell: Numbered, merchantId: string): Promise<Member[]> {
  await requireSealed(db, cell, 'apiKey', merchantId)
  const members: Member[] = []
  for (const { userId, role } of await requireSealed(db, cell, 'member', merchantId)) {
    const person = await loadSealedRow(db, 'user', String(userId))
    if (person === null || !cell.seals.isSealed('user', person)) throw notSealed(cell)
    members.push({ email: String(person.email), role: String(role) })
  }
  return members
}

/** Passwords and second factors stay: who has the mailbox chooses new ones. */
export async function addMembers(
  tx: Tx,
  { seals }: Cell,
  { merchantId, members, now }: { merchantId: string; members: readonly Member[]; now: Date },
): Promise<void> {
  for (const { email, role } of members) {
    const { id: userId } = await findOrMakeOwner(tx, seals, { email }, now)
    const member = { id: newId('member', now), organizationId: merchantId, userId, role }
    await insertMember(tx, { ...member, seal: seals.seal('member', member), now })
    await recordAccess(tx, seals, { kind: 'member', ownerId: merchantId, id: member.id })
  }
}

/** All of a shop's rows, each with its seal and on the shop's sealed list. Throws `StartRefused` where others are there. */
async function requireSealed(
  db: Queryable,
  cell: Numbered,
  kind: AccessKind,
  ownerId: string,
): Promise<SealedRow[]> {
  const rows = await loadSealedRowsOf(db, kind, ownerId)
  const set = await loadAccessSet(db, kind, ownerId)
  const entries = rows.map(({ id, seal }) => `${id} ${String(seal)}`).sort()
  const isWhole =
    set === null ? rows.length === 0 : cell.seals.isSetSealed(set) && `${set.entries}` === `${entries}`
  if (!isWhole || !rows.every((row) => cell.seals.isSealed(kind, row))) throw notSealed(cell)
  return rows
}

const notSealed = ({ cell }: Numbered): StartRefused =>
  new StartRefused(
    `Somebody else than Paylink wrote members or API keys of this merchant in cell ${cell}: see paylink access check`,
  )
