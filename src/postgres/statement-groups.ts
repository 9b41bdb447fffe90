import { isDeepStrictEqual } from 'node:util'
import type { QueryResult } from 'pg'
import type { Tenant } from '../core/tenant.ts'
import { Rows } from './rows.ts'
import type { BatchedStatement } from './statement-batch.ts'

/** Groups of one tenant on the way at the same time: while the database works on one, the next is made. */
const UNDER_WAY_MAX = 2
/** Batches in a group, at most. */
const TOGETHER_MAX = 16

type Batch = {
  readonly statements: readonly BatchedStatement[]
  readonly onEnd: (error: Error | null) => void
}
/** What waits for one tenant: no more than its requests that are handled at a time. */
type Line = { underWay: number; waiting: Batch[] }

/** Sends batches of statements, several of a tenant in one transaction where they come faster than it takes them. */
export type StatementGroups = {
  /** Resolves once the batch has committed; rejects where nothing of it has happened, or nobody knows. */
  send(tenant: Tenant, statements: readonly BatchedStatement[]): Promise<void>
}

/**
 * Batches that come while others of their tenant are under way wait for them, and then go together: one commit, and one
 * statement in place of those that have the same text and differ in their `Rows` alone. Where the server refuses a group, its
 * halves are sent again, so that none fails by another's fault, and those beside one that is refused, such as a repeat, still
 * share their commits; `isUndone` says of which errors it is known that nothing was kept.
 */
export function createStatementGroups(options: {
  readonly commit: (tenant: Tenant, statements: readonly BatchedStatement[]) => Promise<void>
  readonly isUndone: (error: unknown) => boolean
}): StatementGroups {
  const { commit, isUndone } = options
  // One for each tenant that is being written for.
  const lines = new Map<string, Line>()
  const sendOne = async (tenant: Tenant, { statements, onEnd }: Batch): Promise<void> => {
    try {
      await commit(tenant, statements)
      onEnd(null)
    } catch (error) {
      onEnd(asError(error))
    }
  }
  const sendTogether = async (tenant: Tenant, group: readonly Batch[]): Promise<void> => {
    const [first] = group
    if (first !== undefined && group.length === 1) return sendOne(tenant, first)
    const answers: (() => void)[] = []
    try {
      await commit(tenant, merge(group, answers))
    } catch (error) {
      if (!isUndone(error)) {
        for (const { onEnd } of group) onEnd(asError(error))
        return
      }
      const half = group.length >> 1
      await sendTogether(tenant, group.slice(0, half))
      return sendTogether(tenant, group.slice(half))
    }
    for (const answer of answers) answer()
    for (const { onEnd } of group) onEnd(null)
  }
  const next = (tenant: Tenant, name: string, line: Line): void => {
    if (line.underWay >= UNDER_WAY_MAX) return
    const group = line.waiting.splice(0, TOGETHER_MAX)
    if (group.length === 0) return
    line.underWay += 1
    void sendTogether(tenant, group).finally(() => {
      line.underWay -= 1
      if (line.underWay === 0 && line.waiting.length === 0) lines.delete(name)
      else next(tenant, name, line)
    })
  }
  return {
    send: (tenant, statements) =>
      new Promise((resolve, reject) => {
        const name = `${tenant.merchantId} ${tenant.livemode}`
        const line = lines.get(name) ?? { underWay: 0, waiting: [] }
        lines.set(name, line)
        line.waiting.push({ statements, onEnd: (error) => (error === null ? resolve() : reject(error)) })
        next(tenant, name, line)
      }),
  }
}

const asError = (error: unknown): Error =>
  error instanceof Error ? error : new Error('a batch of statements failed', { cause: error })

/**
 * The statements of several batches as those of one; `answers` then has what to call once they have committed. Batches of the
 * same statements go step by step: each of them may need what an earlier statement of its own wrote, none what another batch wrote.
 */
function merge(group: readonly Batch[], answers: (() => void)[]): BatchedStatement[] {
  const byShape = new Map<string, Batch[]>()
  for (const batch of group) {
    const shape = batch.statements.map(({ config }) => config.text).join('\n')
    byShape.set(shape, [...(byShape.get(shape) ?? []), batch])
  }
  return [...byShape.values()].flatMap((alike) =>
    (alike[0]?.statements ?? []).flatMap((_, place) => {
      const step = alike.flatMap(({ statements }) => statements[place] ?? [])
      return mergeStep(step, answers)
    }),
  )
}

function mergeStep(step: readonly BatchedStatement[], answers: (() => void)[]): BatchedStatement[] {
  const answerLater = (statements: readonly BatchedStatement[]): BatchedStatement['onResult'] => {
    return (error: Error | null, result: QueryResult) => {
      // An error is the group's, which is then sent again.
      if (error === null) for (const { onResult } of statements) answers.push(() => onResult(null, result))
    }
  }
  const [first] = step
  const values = mergeValues(step.map(({ config }) => config.values ?? []))
  if (first === undefined || values === null)
    return step.map((statement) => ({ ...statement, onResult: answerLater([statement]) }))
  return [{ config: { ...first.config, values }, onResult: answerLater(step) }]
}

/** The values of one statement that writes the rows of all; null where they differ in more than their rows. */
function mergeValues(each: readonly (readonly unknown[])[]): unknown[] | null {
  const [first = []] = each
  if (!first.some((value) => value instanceof Rows)) return null
  const merged: unknown[] = []
  for (const [place, value] of first.entries()) {
    const same = each.map((values) => values[place])
    const rows = same.filter((one) => one instanceof Rows)
    if (rows.length === same.length) merged.push(new Rows(rows.flatMap(({ list }) => list)))
    else if (same.every((one) => isDeepStrictEqual(one, value))) merged.push(value)
    else return null
  }
  return merged
}
