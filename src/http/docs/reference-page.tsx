import type { FC } from 'hono/jsx'
import { ERRORS } from '../../wire/errors.ts'
import { docsPage } from './docs-layout.tsx'
import type { OpenApiDocument, OpenApiOperation, OpenApiParameter } from './openapi.ts'
import type { JsonSchema } from './schema-example.ts'
import { type OperationProps, TestKey, TryIt } from './try-it.tsx'

/** The reference of the API, made of its OpenAPI document. */
export function renderReference(document: OpenApiDocument): string {
  const all = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  )
  const sections = document.tags.map(({ name }) => ({
    name,
    operations: all.filter(({ operation }) => operation.tags.includes(name)),
  }))
  return docsPage(
    document.info.title,
    'reference',
    <>
      {sections.map(({ name, operations }) => (
        <>
          <h2>{name}</h2>
          <ul>
            {operations.map(({ operation }) => (
              <li>
                <a href={`#${operation.operationId}`}>{operation.summary}</a>
              </li>
            ))}
          </ul>
        </>
      ))}
      <h2>Schemas</h2>
      <ul>
        {Object.keys(document.components.schemas).map((name) => (
          <li>
            <a href={`#${name}`}>{name}</a>
          </li>
        ))}
      </ul>
    </>,
    <>
      <h1>{document.info.title}</h1>
      <Prose text={document.info.description} />
      <p>
        <a href="/openapi.json">OpenAPI 3.1 document</a> · <a href="/docs/errors">Errors</a>
      </p>
      <TestKey />
      {sections
        .flatMap(({ operations }) => operations)
        .map(({ path, method, operation }) => (
          <Operation path={path} method={method} operation={operation} />
        ))}
      {Object.entries(document.components.schemas).map(([name, schema]) => (
        <section id={name}>
          <h2>{name}</h2>
          <Fields schema={schema} />
        </section>
      ))}
    </>,
  )
}

const Operation: FC<OperationProps> = ({ path, method, operation }) => {
  const body = operation.requestBody?.content['application/json']
  return (
    <section id={operation.operationId}>
      <h2>{operation.summary}</h2>
      <p>
        <span class="verb">{method}</span> <code>{path}</code>
      </p>
      <Prose text={operation.description} />
      {operation.parameters.length > 0 && <Parameters parameters={operation.parameters} />}
      {body !== undefined && (
        <p>
          Body: <TypeOf schema={body.schema} />
        </p>
      )}
      <Examples operation={operation} />
      {operation['x-codeSamples'] !== undefined && (
        <TryIt path={path} method={method} operation={operation} />
      )}
      <h3>Responses</h3>
      <div class="scroll" tabindex={0}>
        <table>
          <tbody>
            {Object.entries(operation.responses).map(([status, response]) => (
              <tr>
                <td>{status}</td>
                <td>
                  <Prose text={response.description} />
                  {Number(status) < 300 && response.content !== undefined && (
                    <TypeOf schema={response.content['application/json'].schema} />
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  )
}

/** The request in each language, one open at a time, and what it answers. */
const Examples: FC<{ operation: OpenApiOperation }> = ({ operation }) => {
  const samples = operation['x-codeSamples'] ?? []
  const [answer] = Object.entries(operation.responses).filter(([status]) => Number(status) < 300)
  const example = answer?.[1].content?.['application/json'].example
  return (
    <>
      {samples.length > 0 && <h3>Examples</h3>}
      {samples.map(({ label, source }, index) => (
        <Example name={`${operation.operationId}-request`} title={label} text={source} open={index === 0} />
      ))}
      {example !== undefined && (
        <Example
          name={`${operation.operationId}-response`}
          title={`Response ${answer?.[0]}`}
          text={JSON.stringify(example, null, 2)}
        />
      )}
    </>
  )
}

/** `name`: of those with one name, the browser keeps one open. */
const Example: FC<{ name: string; title: string; text: string; open?: boolean }> = (props) => (
  <details name={props.name} open={props.open ?? false}>
    <summary>{props.title}</summary>
    <pre tabindex={0}>
      <code>{props.text}</code>
    </pre>
  </details>
)

const Parameters: FC<{ parameters: readonly OpenApiParameter[] }> = ({ parameters }) => (
  <div class="scroll" tabindex={0}>
    <table>
      <thead>
        <tr>
          <th>Parameter</th>
          <th>In</th>
          <th>Type</th>
          <th>Meaning</th>
        </tr>
      </thead>
      <tbody>
        {parameters.map((parameter) => (
          <tr>
            <td>
              <code>{parameter.name}</code>
            </td>
            <td>{parameter.in}</td>
            <td>
              <TypeOf schema={parameter.schema} />
            </td>
            <td>{parameter.description}</td>
          </tr>
        ))}
      </tbody>
    </table>
  </div>
)

const Fields: FC<{ schema: JsonSchema }> = ({ schema }) => {
  const required = Array.isArray(schema.required) ? schema.required : []
  return (
    <div class="scroll" tabindex={0}>
      <table>
        <thead>
          <tr>
            <th>Field</th>
            <th>Type</th>
            <th>Meaning</th>
          </tr>
        </thead>
        <tbody>
          {Object.entries(objectOf(schema.properties)).map(([name, field]) => (
            <tr>
              <td>
                <code>{name}</code>
                {!required.includes(name) && <span class="soft"> optional</span>}
              </td>
              <td>
                <TypeOf schema={objectOf(field)} />
              </td>
              <td>{String(objectOf(field).description ?? '')}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

/** A schema's type in a few words, its named parts as links. */
const TypeOf: FC<{ schema: JsonSchema }> = ({ schema }) => {
  const { $ref: ref, anyOf, enum: values, const: constant, items, type, properties } = schema
  if (typeof ref === 'string') {
    const name = ref.slice(ref.lastIndexOf('/') + 1)
    return <a href={`#${name}`}>{name}</a>
  }
  if (Array.isArray(anyOf)) {
    return (
      <>
        {anyOf.map((part: unknown, index) => (
          <>
            {index > 0 && ' or '}
            <TypeOf schema={objectOf(part)} />
          </>
        ))}
      </>
    )
  }
  if (constant !== undefined) return <code>{JSON.stringify(constant)}</code>
  if (Array.isArray(values))
    return (
      <>one of {values.map((value: unknown, index) => [index > 0 && ', ', <code>{String(value)}</code>])}</>
    )
  if (items !== undefined) {
    return (
      <>
        list of <TypeOf schema={objectOf(items)} />
      </>
    )
  }
  if (properties !== undefined) return <Fields schema={schema} />
  return <>{Array.isArray(type) ? type.join(' or ') : String(type ?? 'any')}</>
}

const objectOf = (value: unknown): JsonSchema =>
  typeof value === 'object' && value !== null ? (value as JsonSchema) : {}

/** Paragraphs, lists of one level and `code`, which is all that descriptions use. */
const Prose: FC<{ text: string }> = ({ text }) => (
  <>
    {text.split('\n\n').map((paragraph) => {
      const lines = paragraph.split('\n')
      if (lines.every((line) => line.startsWith('- '))) {
        return (
          <ul>
            {lines.map((line) => (
              <li>
                <Inline text={line.slice(2)} />
              </li>
            ))}
          </ul>
        )
      }
      return (
        <p>
          <Inline text={paragraph} />
        </p>
      )
    })}
  </>
)

const Inline: FC<{ text: string }> = ({ text }) => (
  <>{text.split('`').map((part, index) => (index % 2 === 1 ? <Code text={part} /> : part))}</>
)

const Code: FC<{ text: string }> = ({ text }) => {
  const code = <code>{text}</code>
  return Object.hasOwn(ERRORS, text) ? <a href={`/docs/errors#${text}`}>{code}</a> : code
}
