/**
 * The canonical form of JSON by RFC 8785: no white space, names in order of their UTF-16 code units. Of numbers only
 * whole ones that a double holds exactly, which every language writes alike. Throws for anything else.
 */
export function canonicalJson(value: unknown): string {
  if (value === null || typeof value === 'boolean') return String(value)
  if (typeof value === 'string') return JSON.stringify(value)
  if (typeof value === 'number' && Number.isSafeInteger(value) && !Object.is(value, -0)) return String(value)
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (typeof value !== 'object') throw new NotCanonical(`${typeof value} has no canonical form`)
  const fields = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${fields.map(([name, field]) => `${JSON.stringify(name)}:${canonicalJson(field)}`).join(',')}}`
}

/** A value that has no canonical form. */
export class NotCanonical extends Error {
  override name = 'NotCanonical'
}
