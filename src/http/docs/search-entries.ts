import { ERROR_CODES, ERRORS } from '../../wire/errors.ts'
import { differentWords, guideEntries, type SearchEntry } from './guides.tsx'
import type { OpenApiDocument, OpenApiOperation } from './openapi.ts'
import type { JsonSchema } from './schema-example.ts'

/**
 * What the search box finds, in the order in which it is shown: requests, guides, errors and schemas, then parameters and
 * fields, each with where it is.
 */
export function searchEntries(document: OpenApiDocument): readonly SearchEntry[] {
  const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods))
  const schemas = Object.entries(document.components.schemas)
  return [
    ...operations.map(({ summary, operationId, description }) => ({
      title: summary,
      in: 'API reference',
      url: `/docs#${operationId}`,
      words: differentWords(description),
    })),
    ...guideEntries(),
    ...ERROR_CODES.map((code) => ({
      title: code,
      in: 'Errors',
      url: `/docs/errors#${code}`,
      words: differentWords(ERRORS[code].message),
    })),
    ...schemas.map(([name]) => ({ title: name, in: 'Schemas', url: `/docs#${name}` })),
    ...operations.flatMap((operation) => fieldsOf(operation)),
    ...schemas.flatMap(([name, schema]) =>
      fieldNames(schema).map((field) => ({ title: field, in: `Field of ${name}`, url: `/docs#${name}` })),
    ),
  ]
}

function fieldsOf({ summary, operationId, parameters, requestBody }: OpenApiOperation): SearchEntry[] {
  const body = requestBody?.content['application/json'].schema
  const names = [
    ...parameters.filter(({ name }) => name !== 'id').map(({ name }) => name),
    ...(body === undefined ? [] : fieldNames(body)),
  ]
  return [...new Set(names)].map((name) => ({ title: name, in: summary, url: `/docs#${operationId}` }))
}

/** The names of a schema's fields at every depth, without those of the schemas that it refers to. */
function fieldNames(schema: JsonSchema): readonly string[] {
  const names = new Set<string>()
  const visit = (value: unknown) => {
    if (typeof value !== 'object' || value === null) return
    for (const [keyword, part] of Object.entries(value)) {
      if (keyword === 'properties') for (const name of Object.keys(part)) names.add(name)
      if (!['example', 'default', 'enum', 'const'].includes(keyword)) visit(part)
    }
  }
  visit(schema)
  return [...names]
}
