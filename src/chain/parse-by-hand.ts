import { z } from 'zod'

/**
 * For answers of thousands of alike parts, each of which a schema takes several times as long for. A reader gives null
 * for what is not what was asked for.
 */
type Reader<Output> = (value: unknown) => Output | null

export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null

/** What `read` makes of each value of a list; null where that is none, or one of them is no such value. */
export function allOf<Output>(list: unknown, read: Reader<Output>): Output[] | null {
  if (!Array.isArray(list)) return null
  const outputs: Output[] = []
  for (const value of list) {
    const output = read(value)
    if (output === null) return null
    outputs.push(output)
  }
  return outputs
}

/** A reader as a schema, for a part of one. */
export function parsedBy<Output>(read: Reader<Output>) {
  return z.unknown().transform((value, context): Output => {
    const output = read(value)
    if (output !== null) return output
    context.addIssue('not what was asked for')
    return z.NEVER
  })
}
