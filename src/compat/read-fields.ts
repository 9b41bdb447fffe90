import { readBody } from '../http/read-body.ts'
import { parseStrictJson } from '../http/strict-json.ts'
import { isObject, type Metadata } from './invoice-facts.ts'

/** The JSON object of a request, under the very limits of our own API. Throws its `ApiProblem`s. */
export async function readFields(request: Request): Promise<Metadata> {
  const fields = parseStrictJson(await readBody(request, true))
  return isObject(fields) ? fields : {}
}
