/** Where a part of a JSON text begins and ends, in bytes. */
export type Span = readonly [start: number, end: number]

const codeOf = (character: string): number => character.charCodeAt(0)
const QUOTE = codeOf('"')
const BACKSLASH = codeOf('\\')
const COMMA = codeOf(',')
const COLON = codeOf(':')
const OPEN_LIST = codeOf('[')
const CLOSE_LIST = codeOf(']')
const OPEN_OBJECT = codeOf('{')
const CLOSE_OBJECT = codeOf('}')
/** RFC 8259, section 2. */
const SPACES: ReadonlySet<number | undefined> = new Set([...' \t\n\r'].map(codeOf))

/**
 * Finds the members of an object in a JSON text (RFC 8259) without reading them, so that they can be passed on byte for byte:
 * a double has 53 bits and a balance 64. Null where the text is no object. One that is no JSON may pass, and who reads it
 * finds out.
 */
export function membersOf(bytes: Buffer, span: Span = [0, bytes.length]): Map<string, Span> | null {
  const members = new Map<string, Span>()
  const isObject = readParts(bytes, span, [OPEN_OBJECT, CLOSE_OBJECT], (at, end) => {
    const nameEnd = endOfValue(bytes, at, end)
    const colon = skipSpace(bytes, nameEnd)
    if (bytes[at] !== QUOTE || bytes[colon] !== COLON) return at
    const from = skipSpace(bytes, colon + 1)
    const to = endOfValue(bytes, from, end)
    members.set(bytes.toString('latin1', at + 1, nameEnd - 1), [from, to])
    return to === from ? at : to
  })
  return isObject ? members : null
}

/** The elements of a list; null where the text is none. */
export function elementsOf(bytes: Buffer): Span[] | null {
  const elements: Span[] = []
  const isList = readParts(bytes, [0, bytes.length], [OPEN_LIST, CLOSE_LIST], (at, end) => {
    const to = endOfValue(bytes, at, end)
    elements.push([at, to])
    return to
  })
  return isList ? elements : null
}

/** Reads parts between brackets; `readPart` gives where the one that begins there ends, or the same place for none. */
function readParts(
  bytes: Buffer,
  [start, end]: Span,
  [open, close]: readonly [number, number],
  readPart: (at: number, end: number) => number,
): boolean {
  let at = skipSpace(bytes, start)
  if (bytes[at] !== open) return false
  at = skipSpace(bytes, at + 1)
  if (bytes[at] === close) return skipSpace(bytes, at + 1) >= end
  for (;;) {
    const to = readPart(at, end)
    if (to === at) return false
    at = skipSpace(bytes, to)
    if (bytes[at] === close) return skipSpace(bytes, at + 1) >= end
    if (bytes[at] !== COMMA) return false
    at = skipSpace(bytes, at + 1)
  }
}

function skipSpace(bytes: Buffer, start: number): number {
  let at = start
  while (SPACES.has(bytes[at])) at += 1
  return at
}

/** Behind the value that begins at `start`; `start` itself where none does, or it is cut off. */
function endOfValue(bytes: Buffer, start: number, end: number): number {
  let depth = 0
  let isString = false
  for (let at = start; at < end; at++) {
    const byte = bytes[at]
    if (isString) {
      if (byte === BACKSLASH) at += 1
      else if (byte === QUOTE) isString = false
      if (isString || depth > 0) continue
      return at + 1
    }
    if (byte === QUOTE) isString = true
    else if (byte === OPEN_OBJECT || byte === OPEN_LIST) depth += 1
    else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) {
      if (depth === 0) return at
      depth -= 1
      if (depth === 0) return at + 1
    } else if (depth === 0 && (byte === COMMA || SPACES.has(byte))) return at
  }
  return start
}
