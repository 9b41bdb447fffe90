import { ApiProblem } from './problem.ts'

/** Deeper than any honest request; shallow enough for every parser behind us. */
const DEPTH_MAX = 64

/** With the syntax known to be right, these are all the tokens there are. Linear: no two branches begin alike. */
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[-0-9][-+0-9.eE]*|[{}[\],:]|true|false|null/g
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
 * The one JSON object of a request body. Refuses, naming the field, what parsers would silently change or
 * disagree on: repeated names, `__proto__`, NUL, lone surrogates, and numbers that a double cannot hold.
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

function checkTokens(text: string): void {
  const frames: Frame[] = []
  for (const [token] of text.matchAll(TOKEN)) {
    const frame = frames.at(-1)
    switch (token) {
      case '{':
      case '[':
        if (frames.length >= DEPTH_MAX) {
          throw new ApiProblem('parameter_invalid', {
            param: pathOf(frames),
            message: `Objects and arrays may be nested at most ${DEPTH_MAX} deep.`,
          })
        }
        frames.push({
          names: token === '{' ? new Set() : null,
          at: token === '{' ? '' : 0,
          expectsName: true,
        })
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
      default:
        checkScalar(token, frames)
    }
  }
}

function advance(frame: Frame): void {
  if (frame.names === null) frame.at = Number(frame.at) + 1
  else frame.expectsName = true
}

function checkScalar(token: string, frames: readonly Frame[]): void {
  const frame = frames.at(-1)
  if (token.startsWith('"')) {
    const content = JSON.parse(token) as string
    if (frame !== undefined && frame.names !== null && frame.expectsName) {
      frame.at = content
      checkName(content, frame.names, frames)
    }
    checkText(content, () => pathOf(frames))
    return
  }
  if (/^[-0-9]/.test(token) && !isExact(token)) {
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
