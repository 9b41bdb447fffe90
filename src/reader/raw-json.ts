/** Where a part of a JSON text begins and ends, in bytes. */
export type Span = readonly [start: number, end: number]

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d
/** Space, tab, line feed and carriage return (RFC 8259, section 2). */
const isSpace = (byte: number | undefined): boolean =>
  byte === 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d

/**
 * Finds the parts of a JSON text (RFC 8259) without reading them, so that they can be passed on byte for byte: a double has 53
 * bits and a balance 64. A text that is no JSON may pass, and who reads it finds out.
 */
export function membersOf(bytes: Buffer, [start, end]: Span = [0, bytes.length]): Map<string, Span> | null {
  const members = new Map<string, Span>()
  let at = skipSpace(bytes, start)
  if (bytes[at] !== OPEN_BRACE) return null
  at = skipSpace(bytes, at + 1)
  if (bytes[at] === CLOSE_BRACE) return isEnd(bytes, at + 1, end) ? members : null
  for (;;) {
    if (bytes[at] !== QUOTE) return null
    const nameEnd = endOfString(bytes, at, end)
    const colon = skipSpace(bytes, nameEnd)
    if (bytes[colon] !== COLON) return null
    const from = skipSpace(bytes, colon + 1)
    const to = endOfValue(bytes, from, end)
    if (to === from) return null
    members.set(bytes.toString('latin1', at + 1, nameEnd - 1), [from, to])
    at = skipSpace(bytes, to)
    if (bytes[at] === CLOSE_BRACE) return isEnd(bytes, at + 1, end) ? members : null
    if (bytes[at] !== COMMA) return null
    at = skipSpace(bytes, at + 1)
  }
}

/** The elements of a list; null where the text is none. */
export function elementsOf(bytes: Buffer): Span[] | null {
  const elements: Span[] = []
  let at = skipSpace(bytes, 0)
  if (bytes[at] !== OPEN_BRACKET) return null
  at = skipSpace(bytes, at + 1)
  if (bytes[at] === CLOSE_BRACKET) return isEnd(bytes, at + 1, bytes.length) ? elements : null
  for (;;) {
    const to = endOfValue(bytes, at, bytes.length)
    if (to === at) return null
    elements.push([at, to])
    at = skipSpace(bytes, to)
    if (bytes[at] === CLOSE_BRACKET) return isEnd(bytes, at + 1, bytes.length) ? elements : null
    if (bytes[at] !== COMMA) return null
    at = skipSpace(bytes, at + 1)
  }
}

function skipSpace(bytes: Buffer, start: number): number {
  let at = start
  while (isSpace(bytes[at])) at += 1
  return at
}

const isEnd = (bytes: Buffer, at: number, end: number): boolean => skipSpace(bytes, at) >= end

/** Behind the quote that ends the string which begins at `start`; the end of all where none does. */
function endOfString(bytes: Buffer, start: number, end: number): number {
  for (let at = start + 1; at < end; at++) {
    const byte = bytes[at]
    if (byte === QUOTE) return at + 1
    if (byte === BACKSLASH) at += 1
  }
  return end
}

/** Behind the value that begins at `start`; `start` itself where none does, or it is cut off. */
function endOfValue(bytes: Buffer, start: number, end: number): number {
  let depth = 0
  for (let at = start; at < end; at++) {
    const byte = bytes[at]
    if (byte === QUOTE) {
      at = endOfString(bytes, at, end) - 1
      if (depth === 0) return at + 1
    } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth += 1
    else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      if (depth === 0) return at
      depth -= 1
      if (depth === 0) return at + 1
    } else if (depth === 0 && (byte === COMMA || isSpace(byte))) return at
  }
  return start
}
