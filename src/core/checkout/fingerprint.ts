const FNV_PRIME = 0x01000193
/** FNV-1a's own offset, and another for the second lane. */
const OFFSETS = [0x811c9dc5, 0x9e3779b9] as const

/**
 * A short text that differs where the JSON of two values differs: two 32-bit FNV-1a lanes. It tells change from
 * no change among versions of one page; it proves nothing against someone who wants a collision.
 */
export function fingerprint(value: unknown): string {
  const text = JSON.stringify(value, (_key, part: unknown) => (typeof part === 'bigint' ? `${part}n` : part))
  return OFFSETS.map((offset) => lane(text, offset).toString(36)).join('')
}

function lane(text: string, offset: number): number {
  let hash = offset
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), FNV_PRIME)
  }
  return hash >>> 0
}
