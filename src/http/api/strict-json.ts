import { ApiProblem } from './problem.ts'

/** Deeper than any honest request; shallow enough for every parser behind us. */
const DEPTH_MAX = 64

/** A double is written in at most 25 characters; more than this is a number nobody means. */
const NUMBER_LENGTH_MAX = 100
const LONE_SURROGATE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/
const NUMBER = /^-?([0-9]+)(?:\.([0-9]+))?(?:[eE]([-+]?[0-9]+))?$/

type Frame = {
  /** Names seen in this object; null for an array. */
  readonly names: Set<string> | null
  /** The name or index that the next value stands under. */
  at: string | number
  expectsName: boolean
}

/**
 * Parses a request body that must be one JSON object. Rejects, naming the field, what parsers would silently change
 * or disagree on: repeated names, `__proto__`, NUL, lone surrogates, and numbers that a double cannot hold.
 */
export function parseStrictJson(bytes: Uint8Array): { [name: string]: unknown } {
  const text = decodeUtf8(bytes)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new ApiProblem('body_invalid', { cause: error })
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new ApiProblem('body_invalid')
  checkTokens(text)
  return value as { [name: string]: unknown }
}

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch (error) {
    throw new ApiProblem('body_invalid', { cause: error })
  }
}

/** The syntax is known to be valid, so a walk from token to token suffices, looking at each character once. */
function checkTokens(text: string): void {
  const frames: Frame[] = []
  let position = 0
  while (position < text.length) {
    const start = position
    position = endOfToken(text, start)
    const frame = frames.at(-1)
    switch (text[start]) {
      case '{':
      case '[':
        open(frames, text[start] === '{')
        break
      case '}':
      case ']':
        frames.pop()
        break
      case ',':
        if (frame !== undefined) advance(frame)
        break
      case ':':
        if (frame !== undefined) frame.expectsName = false
        break
      case '"':
        checkString(text.slice(start, position), frames)
        break
      default:
        checkWord(text.slice(start, position), frames)
    }
  }
}

/** Where the string, number, word or sign ends that begins at `start`. */
function endOfToken(text: string, start: number): number {
  let end = start + 1
  if (text[start] === '"') {
    while (end < text.length && text[end] !== '"') end += text[end] === '\\' ? 2 : 1
    return end + 1
  }
  if (!isWordCharacter(text.charCodeAt(start))) return end
  while (end < text.length && isWordCharacter(text.charCodeAt(end))) end += 1
  return end
}

/** Of numbers and of `true`, `false`, `null`: `+`, `-`, `.`, digits, letters. */
const isWordCharacter = (code: number): boolean =>
  (code >= 0x30 && code <= 0x39) ||
  (code >= 0x61 && code <= 0x7a) ||
  code === 0x45 ||
  code === 0x2b ||
  code === 0x2d ||
  code === 0x2e

function open(frames: Frame[], isObject: boolean): void {
  if (frames.length >= DEPTH_MAX) {
    throw new ApiProblem('parameter_invalid', {
      param: pathOf(frames),
      message: `Objects and arrays may be nested at most ${DEPTH_MAX} deep.`,
    })
  }
  frames.push({ names: isObject ? new Set() : null, at: isObject ? '' : 0, expectsName: true })
}

function advance(frame: Frame): void {
  if (frame.names === null) frame.at = Number(frame.at) + 1
  else frame.expectsName = true
}

function checkString(token: string, frames: readonly Frame[]): void {
  const frame = frames.at(-1)
  const content = token.includes('\\') ? (JSON.parse(token) as string) : token.slice(1, -1)
  if (frame !== undefined && frame.names !== null && frame.expectsName) {
    frame.at = content
    checkName(content, frame.names, frames)
  }
  checkText(content, () => pathOf(frames))
}

function checkWord(token: string, frames: readonly Frame[]): void {
  const isNumber = /^[-0-9]/.test(token)
  if (isNumber && !isShort(token) && !isExact(token)) {
    throw new ApiProblem('parameter_invalid', {
      param: pathOf(frames),
      message: 'This number cannot be kept exactly as it was given; send it as a string.',
    })
  }
}

function checkName(name: string, names: Set<string>, frames: readonly Frame[]): void {
  if (name === '__proto__') {
    throw new ApiProblem('parameter_invalid', {
      param: pathOf(frames),
      message: 'No field may have this name.',
    })
  }
  if (names.has(name)) throw new ApiProblem('parameter_duplicate', { param: pathOf(frames) })
  names.add(name)
}

/** Refuses text that PostgreSQL cannot hold or that UTF-8 cannot carry unchanged. */
export function checkText(text: string, paramOf: () => string): void {
  if (text.includes('\u0000')) {
    throw new ApiProblem('parameter_invalid', {
      param: paramOf(),
      message: 'Text may not contain the NUL character.',
    })
  }
  if (LONE_SURROGATE.test(text)) {
    throw new ApiProblem('parameter_invalid', {
      param: paramOf(),
      message: 'Text may not contain half a character.',
    })
  }
}

/** `metadata.order[0]`: where the innermost value stands. */
function pathOf(frames: readonly Frame[]): string {
  let path = ''
  for (const frame of frames) {
    if (frame.names === null) path += `[${frame.at}]`
    else path += path === '' ? String(frame.at) : `.${frame.at}`
  }
  return path
}

/** Fifteen digits without an exponent always fit a double. */
const isShort = (token: string): boolean => token.length <= 15 && !/[eE]/.test(token)

/** Whether a number survives being read into a double and written again. */
function isExact(token: string): boolean {
  if (token.length > NUMBER_LENGTH_MAX) return false
  return canonicalNumber(token) === canonicalNumber(String(Number(token)))
}

function canonicalNumber(text: string): string | null {
  const match = NUMBER.exec(text)
  if (match === null) return null
  const fraction = match[2] ?? ''
  const digits = `${match[1] ?? ''}${fraction}`.replace(/^0+/, '')
  if (digits === '') return '0'
  const significant = digits.replace(/0+$/, '')
  const exponent = Number(match[3] ?? '0') - fraction.length + (digits.length - significant.length)
  return `${text.startsWith('-') ? '-' : ''}${significant}e${exponent}`
}
