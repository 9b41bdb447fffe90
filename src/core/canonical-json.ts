/**
 * The canonical form of JSON by RFC 8785: no white space, names in order of their UTF-16 code units, numbers as
 * ECMAScript writes them. `isAllowed` may refuse numbers. Throws for what it refuses, and for what JSON does not know.
 */
export function canonicalJson(
  value: unknown,
  isAllowed: (number: number) => boolean = Number.isFinite,
): string {
  if (value === null || typeof value === 'boolean') return String(value)
  if (typeof value === 'string') return JSON.stringify(value)
  if (typeof value === 'number' && isAllowed(value)) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item, isAllowed)).join(',')}]`
  if (typeof value !== 'object') throw new NotCanonical(`${typeof value} has no canonical form`)
  const fields = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  const texts = fields.map(([name, field]) => `${JSON.stringify(name)}:${canonicalJson(field, isAllowed)}`)
  return `{${texts.join(',')}}`
}

/** Whole numbers that a double holds exactly: every language writes these alike. */
export const isPlainNumber = (number: number): boolean =>
  Number.isSafeInteger(number) && !Object.is(number, -0)

/** A value that has no canonical form. */
export class NotCanonical extends Error {
  override name = 'NotCanonical'
}
