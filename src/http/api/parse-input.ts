import type { z } from 'zod'
import { ERRORS, type ErrorCode } from '../../wire/errors.ts'
import { ApiProblem } from './problem.ts'
import { checkText } from './strict-json.ts'

/**
 * The parameters of a query string, decoded. Rejects unknown parameters, repeated ones and invalid percent-encoded
 * UTF-8.
 */
export function parseStrictQuery(search: string, known: readonly string[]): { [name: string]: string } {
  const parameters: { [name: string]: string } = {}
  const query = search.startsWith('?') ? search.slice(1) : search
  if (query === '') return parameters
  for (const part of query.split('&')) {
    const equals = part.indexOf('=')
    const name = decode(equals < 0 ? part : part.slice(0, equals), part)
    if (!known.includes(name)) throw new ApiProblem('parameter_unknown', { param: name })
    if (Object.hasOwn(parameters, name)) throw new ApiProblem('parameter_duplicate', { param: name })
    const value = equals < 0 ? '' : decode(part.slice(equals + 1), name)
    checkText(value, () => name)
    parameters[name] = value
  }
  return parameters
}

function decode(text: string, param: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch (error) {
    throw new ApiProblem('parameter_invalid', {
      param,
      message: 'The query string is not percent-encoded UTF-8.',
      cause: error,
    })
  }
}

type Issue = z.core.$ZodIssue

/** What the schema makes of a value. Throws the problem of the first fault, naming the parameter. */
export function parseInput(schema: z.ZodType, value: unknown): unknown {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const issue = result.error.issues[0]
  if (issue === undefined)
    throw new Error('a schema refused a value without an issue', { cause: result.error })
  throw problemOf(issue, value)
}

function problemOf(issue: Issue, value: unknown): ApiProblem {
  const param = pathOf(issue.path)
  if (issue.code === 'unrecognized_keys') {
    return new ApiProblem('parameter_unknown', { param: pathOf([...issue.path, issue.keys[0] ?? '']) })
  }
  if (
    valueAt(value, issue.path) === undefined &&
    (issue.code === 'invalid_type' || issue.code === 'invalid_value')
  ) {
    return new ApiProblem('parameter_missing', { param })
  }
  const code = issue.code === 'custom' ? codeOf(issue.params) : 'parameter_invalid'
  return new ApiProblem(code, { param, message: messageOf(issue, code) })
}

/** A schema may name a code of its own in a refinement's `params`. */
function codeOf(params: { [name: string]: unknown } | undefined): ErrorCode {
  const code = params?.code
  return typeof code === 'string' && Object.hasOwn(ERRORS, code) ? (code as ErrorCode) : 'parameter_invalid'
}

function messageOf(issue: Issue, code: ErrorCode): string {
  if (issue.code === 'custom' && code !== 'parameter_invalid') return ERRORS[code].message
  return issue.message.endsWith('.') ? issue.message : `${issue.message}.`
}

function pathOf(path: readonly PropertyKey[]): string {
  let text = ''
  for (const part of path) {
    if (typeof part === 'number') text += `[${part}]`
    else text += text === '' ? String(part) : `.${String(part)}`
  }
  return text
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let current = value
  for (const part of path) {
    if (typeof current !== 'object' || current === null || !Object.hasOwn(current, part)) return undefined
    current = (current as { [name: PropertyKey]: unknown })[part]
  }
  return current
}
