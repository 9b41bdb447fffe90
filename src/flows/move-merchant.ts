import { loadSealedRowsOf } from '../db/people/access-rows.ts'
import {
  deleteMerchantMove,
  deleteRowsOf,
  insertMerchantMove,
  loadMerchantMove,
  lockMerchantMove,
  type MerchantMove,
  markRows,
  readRows,
  stepMerchantMove,
  waitForOther,
  writeRows,
} from '../db/people/merchant-moves.ts'
import type { Pool } from '../postgres/pool.ts'
import { type Tx, withOneMoment, withSystemTransaction } from '../postgres/transaction.ts'
import { StartRefused } from '../runtime/start-refused.ts'
import { recipientOf } from '../secrets/unsubscribe-token.ts'
import { addMembers, listMembers } from './steps/moved-members.ts'
import {
  type Cell,
  COPIED_TABLES,
  type CopiedTable,
  copyTable,
  type MovedMerchant,
  type Tally,
  tallyRows,
  tallyTable,
} from './steps/moved-tables.ts'
import { recordAccess } from './steps/record-access.ts'

/** A shop's settings and live answers are read for no longer. */
const READ_MINUTES_MAX = 60
/** A copy and two readings: what ends within this is not compared, since either cell may forget it meanwhile. */
const MOVE_MS_MAX = 3 * READ_MINUTES_MAX * 60_000

/** With the connections of its owner. Its process makes the ids: they are of the target. */
export type MovingCell = Cell & { readonly pool: Pool; readonly cell: number }
export type Move = {
  readonly merchantId: string
  readonly source: MovingCell
  readonly target: MovingCell
  readonly now: Date
  /** Before each step. */
  readonly onStep: (step: 'stop' | 'copy' | 'verify' | 'switch' | 'open') => void
}
type Moved = {
  /** Rows that were copied and compared, by table. */
  readonly copied: { readonly [table: string]: number }
  /** Buyers who unsubscribed, and whose address no invoice has: in the new cell they are not known. */
  readonly optoutsLost: number
}

/** How often settings may be copied anew because somebody changed them meanwhile. */
const COPIES_MAX = 3

const tag = ({ cell }: MovingCell | MerchantMove): string => `cell ${cell}`

/**
 * Moves a merchant's new sales to another cell; what is there already stays. At most one of the two sells at any time: the
 * target opens after the source's commit of `moved`, and a second run goes on from wherever the first one ended. Throws
 * `StartRefused` where there is nothing to move, or the target has the merchant.
 */
export async function moveMerchant(move: Move): Promise<Moved> {
  const { merchantId, source, target, onStep } = move
  const there = await loadMerchantMove(target.pool, merchantId)
  const here = await loadMerchantMove(source.pool, merchantId)
  if (!here.exists) throw new StartRefused(`No such merchant in ${tag(source)}: ${merchantId}`)
  refuseOther(move, here.move, ['moving', 'moved'])
  if (here.move?.state !== 'arrived') await giveUpAgain(move, here.move, there.move)
  if (there.exists)
    refuseOther({ ...move, source: target, target: source }, there.move, ['arriving', 'arrived'])
  if (there.exists && there.move === null)
    throw new StartRefused(`${merchantId} is in ${tag(target)} already, and did not come from ${tag(source)}`)
  // The source may have been restored from a backup of before the move, and the target as well.
  const hasArrived = there.move?.state === 'arrived'
  let moved: Moved = { copied: {}, optoutsLost: 0 }
  onStep('stop')
  const beganAt = await stopSales(move, here.move)
  const merchant = { merchantId, beganAt }
  const copy = async (): Promise<void> => {
    onStep('copy')
    moved = { ...moved, optoutsLost: await copyMerchant(move, merchant) }
  }
  // A copy of an earlier move that was undone lacks what was sold since.
  const isCopied = here.move?.state === 'moved' && there.move?.beganAt.getTime() === beganAt.getTime()
  if (!hasArrived && !isCopied) {
    await copy()
    onStep('verify')
    moved = { ...moved, copied: await verifyCopy(move, merchant) }
  }
  onStep('switch')
  await switchSales(move, beganAt)
  onStep('open')
  // What ends an access in the source until then ends it in both: the source takes changes again since the switch, also
  // while it is copied, so that only what is compared under its lock counts.
  for (let copies = 0; !(await openTarget(move, merchant)); copies++) {
    if (copies === COPIES_MAX)
      throw new StartRefused(`Settings change in ${tag(source)} all the time: run the same command again`)
    await copy()
    onStep('open')
  }
  return moved
}

/** Undoes a move before its switch. Throws `StartRefused` where there is none, or the merchant has moved. */
export async function abortMove({ merchantId, source, target }: Move): Promise<void> {
  const { move } = await loadMerchantMove(source.pool, merchantId)
  const { move: there } = await loadMerchantMove(target.pool, merchantId)
  const isLeft = move === null && there?.state === 'arriving' && there.cell === source.cell
  const isUnderWay = move?.cell === target.cell && (move.state === 'moving' || move.state === 'staying')
  if (!isLeft && !isUnderWay)
    throw new StartRefused(
      move?.state === 'moved'
        ? `${merchantId} has moved to ${tag(move)}: that cannot be undone`
        : `${merchantId} is not being moved to ${tag(target)}`,
    )
  // The source was restored from a backup of before the switch.
  if (there?.state === 'arrived')
    throw new StartRefused(`${merchantId} is in ${tag(target)} already: run the command without --abort`)
  // From here on no other run of the command can switch.
  await withSystemTransaction(source.pool, async (tx) => {
    await lockMerchantMove(tx, merchantId)
    await stepMerchantMove(tx, merchantId, { from: 'moving', to: 'staying', cell: target.cell })
  })
  const { move: now } = await loadMerchantMove(source.pool, merchantId)
  if (now !== null && now.state !== 'staying')
    throw new StartRefused(`${merchantId} has just moved: that cannot be undone`)
  await withSystemTransaction(target.pool, (tx) => dropCopy(tx, merchantId))
  await withSystemTransaction(source.pool, (tx) => deleteMerchantMove(tx, merchantId, 'staying'))
}

function refuseOther(
  { merchantId, source, target }: Move,
  move: MerchantMove | null,
  goingOn: readonly MerchantMove['state'][],
): void {
  if (move === null || (goingOn.includes(move.state) && move.cell === target.cell)) return
  const about = { moving: 'is being moved to', moved: 'has moved to', arriving: 'is arriving from' }
  if (move.state === 'staying')
    throw new StartRefused(`A move of ${merchantId} is being undone: finish it with --abort first`)
  // In the source, one who arrived may leave again.
  if (move.state === 'arrived' && goingOn.includes('moving')) return
  throw new StartRefused(
    move.state === 'arrived'
      ? `${merchantId} is in ${tag(source)} already`
      : `In ${tag(source)}, ${merchantId} ${about[move.state]} ${tag(move)}`,
  )
}

/** A source that was restored from a backup of before the move gives up who has left the target since, too: then it throws. */
async function giveUpAgain(move: Move, here: MerchantMove | null, there: MerchantMove | null): Promise<void> {
  const { source, target, merchantId } = move
  const hasLeft = there !== null && !there.state.startsWith('arriv') && there.cell !== source.cell
  if (!hasLeft) return
  await switchSales(move, await stopSales(move, here))
  throw new StartRefused(
    `${merchantId} was in ${tag(target)} before, and moved on from there: ${tag(source)} sells nothing for it any more`,
  )
}

/** From its commit on the source refuses sales and settings, and none is half written. When the move began. */
function stopSales({ merchantId, source, target, now }: Move, move: MerchantMove | null): Promise<Date> {
  if (move?.state === 'moving' || move?.state === 'moved') return Promise.resolve(move.beganAt)
  return withSystemTransaction(source.pool, async (tx) => {
    await lockMerchantMove(tx, merchantId)
    await deleteMerchantMove(tx, merchantId, 'arrived')
    if (!(await insertMerchantMove(tx, merchantId, { state: 'moving', cell: target.cell, beganAt: now })))
      throw new StartRefused(`Another command moves ${merchantId}: wait for its end`)
    return now
  })
}

/** The whole copy in one transaction of the target, in place of one that was not switched to. Buyers' opt-outs lost. */
async function copyMerchant(move: Move, merchant: MovedMerchant): Promise<number> {
  const { source, target, now } = move
  const { merchantId, beganAt } = merchant
  return withOneMoment(source.pool, READ_MINUTES_MAX, (from) =>
    withSystemTransaction(target.pool, async (to) => {
      for (const tx of [from, to]) await waitForOther(tx, READ_MINUTES_MAX)
      await dropCopy(to, merchantId)
      for (const table of COPIED_TABLES) await copyTable({ from, to, source, target, now }, table, merchant)
      const members = await listMembers(from, source, merchantId)
      await addMembers(to, target, { merchantId, members, now })
      await copyOrders(move, from, to)
      const optoutsLost = await copyOptouts(move, from, to)
      for (const { id } of await loadSealedRowsOf(to, 'apiKey', merchantId))
        await recordAccess(to, target.seals, { kind: 'apiKey', ownerId: merchantId, id })
      // Last: it refuses what comes before as well.
      await insertMerchantMove(to, merchantId, { state: 'arriving', cell: source.cell, beganAt })
      return optoutsLost
    }),
  )
}

/** What the copy and its use as a cell that sells nothing may have written, last things first. */
const OF_A_COPY = [
  ['access_set', 'owner_id'],
  ['organization_member', 'organization_id'],
  ['organization_invitation', 'organization_id'],
  ...[
    'destination_sighting',
    'approver_sighting',
    'known_manager',
    'notice_refusal',
    'saved_view',
    'audit_entry',
    'request_log',
    'buyer_optout',
    'moved_order',
  ].map((table) => [table, 'merchant_id'] as const),
  ...COPIED_TABLES.map(({ table, owner = 'merchant_id' }) => [table, owner] as const).reverse(),
] as const

async function dropCopy(tx: Tx, merchantId: string): Promise<void> {
  await lockMerchantMove(tx, merchantId)
  const { exists, move } = await loadMerchantMove(tx, merchantId)
  if (!exists) return
  if (move?.state !== 'arriving') throw new StartRefused(`${merchantId} is in the target already`)
  await deleteMerchantMove(tx, merchantId, 'arriving')
  for (const [table, column] of OF_A_COPY) await deleteRowsOf(tx, table, column, merchantId)
}

/** So that no order gets a second checkout session. */
async function copyOrders({ merchantId, source }: Move, from: Tx, to: Tx): Promise<void> {
  const orders = `select merchant_id, order_reference, ${source.cell} as cell from checkout_session where merchant_id = $1
    union all select merchant_id, order_reference, cell from moved_order where merchant_id = $1`
  for await (const rows of readRows(from, orders, [merchantId]))
    await writeRows(to, 'moved_order', ['merchant_id', 'order_reference', 'cell'], rows)
}

/** A mailbox is known by a digest under the cell's key: it is made anew of the addresses of invoices. How many are left. */
async function copyOptouts({ merchantId, source, target }: Move, from: Tx, to: Tx): Promise<number> {
  const known = new Set<string>()
  const columns = ['merchant_id', 'recipient', 'created_at']
  for await (const rows of readRows(from, 'select recipient from buyer_optout where merchant_id = $1', [
    merchantId,
  ]))
    for (const row of rows) known.add((JSON.parse(row) as { recipient: string }).recipient)
  if (known.size === 0) return 0
  const emails =
    'select distinct customer_email from invoice where merchant_id = $1 and customer_email is not null'
  const digestOf = (cell: MovingCell, email: string) =>
    `\\x${recipientOf(cell.keyring, email).toString('hex')}`
  for await (const rows of readRows(from, emails, [merchantId]))
    for (const row of rows) {
      const { customer_email: email } = JSON.parse(row) as { customer_email: string }
      if (!known.delete(digestOf(source, email))) continue
      const optout = { merchant_id: merchantId, recipient: digestOf(target, email), created_at: new Date() }
      await writeRows(to, 'buyer_optout', columns, [JSON.stringify(optout)])
    }
  return known.size
}

/** Compares both sides, and the seals of the target. Rows by table. Throws `StartRefused` where they differ. */
async function verifyCopy(move: Move, merchant: MovedMerchant): Promise<{ [table: string]: number }> {
  const { source, target } = move
  const tally = (cell: MovingCell) =>
    withOneMoment(cell.pool, READ_MINUTES_MAX, (tx) =>
      tallyAll(tx, cell, COPIED_TABLES, lasting(move, merchant)),
    )
  const [theirs, own] = [await tally(source), await tally(target)]
  const table = differing(theirs, own)
  if (table !== undefined)
    throw new StartRefused(`The copy of ${table} is not as in ${tag(source)}: run the same command again`)
  return Object.fromEntries([...own].map(([name, { rows }]) => [name, rows]))
}

type Tallies = ReadonlyMap<string, Tally>

const lasting = ({ now }: Move, merchant: MovedMerchant): MovedMerchant => ({
  ...merchant,
  beganAt: new Date(now.getTime() + MOVE_MS_MAX),
})

async function tallyAll(
  tx: Tx,
  cell: MovingCell,
  tables: readonly CopiedTable[],
  merchant: MovedMerchant,
): Promise<Tallies> {
  const tallies = new Map([['organization_member', await tallyMembers(tx, cell, merchant)]])
  for (const of of tables) tallies.set(of.table, await tallyTable(tx, cell, of, merchant))
  return tallies
}

async function tallyMembers(tx: Tx, cell: MovingCell, { merchantId }: MovedMerchant): Promise<Tally> {
  const members = await listMembers(tx, cell, merchantId)
  return tallyRows(members.map(({ email, role }) => `${email.toLowerCase()} ${role}`))
}

const isSame = (one: Tally | undefined, other: Tally | undefined): boolean =>
  one?.rows === other?.rows && one?.sum === other?.sum

const differing = (theirs: Tallies, own: Tallies): string | undefined =>
  [...theirs].find(([table, tally]) => !isSame(tally, own.get(table)))?.[0]

/** All but stored answers: since the switch, those are of what stays in the source. */
const SETTINGS = COPIED_TABLES.filter(({ table }) => table !== 'idempotency_key')

/** A cell's settings of a merchant at one moment, and which rows those were. */
const readSettings = (move: Move, cell: MovingCell, merchant: MovedMerchant) =>
  withOneMoment(cell.pool, READ_MINUTES_MAX, async (tx) => ({
    tallies: await tallyAll(tx, cell, SETTINGS, lasting(move, merchant)),
    mark: await markRows(tx, SETTINGS, merchant.merchantId),
  }))

/** The target sells, with the settings that the source has at that moment; false where they are no longer those copied. */
async function openTarget(move: Move, merchant: MovedMerchant): Promise<boolean> {
  const { merchantId, source, target } = move
  if ((await loadMerchantMove(target.pool, merchantId)).move?.state === 'arrived') return true
  // What takes long, before the lock: the merchant's requests wait for that, each with a connection of the API's.
  const [theirs, own] = [
    await readSettings(move, source, merchant),
    await readSettings(move, target, merchant),
  ]
  return withSystemTransaction(source.pool, async (from) => {
    await waitForOther(from, READ_MINUTES_MAX)
    // Until the end nobody changes them there.
    await lockMerchantMove(from, merchantId)
    return withSystemTransaction(target.pool, async (to) => {
      await waitForOther(to, READ_MINUTES_MAX)
      await lockMerchantMove(to, merchantId)
      const { move: there } = await loadMerchantMove(to, merchantId)
      if (there?.state === 'arrived') return true
      const isCurrent =
        differing(theirs.tallies, own.tallies) === undefined &&
        isSame(await tallyMembers(from, source, merchant), await tallyMembers(to, target, merchant)) &&
        theirs.mark === (await markRows(from, SETTINGS, merchantId)) &&
        own.mark === (await markRows(to, SETTINGS, merchantId))
      if (there !== null && !isCurrent) return false
      const step = { from: 'arriving', to: 'arrived', cell: source.cell } as const
      if (!(await stepMerchantMove(to, merchantId, step)))
        throw new StartRefused(`${tag(target)} lost its copy: run the same command again`)
      return true
    })
  })
}

/** From its commit on the source never sells for the merchant again. Only the move that was copied: not a later one. */
async function switchSales({ merchantId, source, target }: Move, beganAt: Date): Promise<void> {
  const step = { from: 'moving', to: 'moved', cell: target.cell, beganAt } as const
  await withSystemTransaction(source.pool, async (tx) => {
    await lockMerchantMove(tx, merchantId)
    await stepMerchantMove(tx, merchantId, step)
  })
  const { move } = await loadMerchantMove(source.pool, merchantId)
  if (move?.state !== 'moved' || move.cell !== target.cell || move.beganAt.getTime() !== beganAt.getTime())
    throw new StartRefused(`The move of ${merchantId} was undone meanwhile`)
}
