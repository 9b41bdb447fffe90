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
