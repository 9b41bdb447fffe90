import { readBody } from '../http/api/read-body.ts'
import { parseStrictJson } from '../http/api/strict-json.ts'
import { isObject, type Metadata } from './invoice-facts.ts'

/** Reads the JSON object of a request, with the limits of our own API, and throws the same `ApiProblem`s. */
export async function readFields(request: Request): Promise<Metadata> {
  const fields = parseStrictJson(await readBody(request, true))
  return isObject(fields) ? fields : {}
}
