import type { FC } from 'hono/jsx'
import { DASHBOARD } from './docs-layout.tsx'
import type { OpenApiOperation } from './openapi.ts'

export type OperationProps = {
  readonly path: string
  readonly method: string
  readonly operation: OpenApiOperation
}

/** Where a reader enters the key that “Try it” sends. */
export const TestKey: FC = () => (
  <p class="key" hidden>
    <label for="api-key">Test API key</label>
    <input
      id="api-key"
      type="password"
      autocomplete="off"
      placeholder="sk_test_…"
      aria-describedby="api-key-use"
    />
    <span id="api-key-use" class="soft">
      For “Try it” below each request. A sandbox prints one when it starts, and the dashboard makes more under{' '}
      <a href={`${DASHBOARD}developers/keys`}>API keys</a>. This browser tab keeps it, until you close it.
      Live keys are refused.
    </span>
  </p>
)

/** The request as a form, which the page's script shows and sends to this server. */
export const TryIt: FC<OperationProps> = ({ path, method, operation }) => {
  const id = `${operation.operationId}-try`
  const body = operation.requestBody?.content['application/json'].example
  return (
    <details class="try" hidden>
      <summary>Try it</summary>
      <form data-method={method.toUpperCase()} data-path={path}>
        {operation.parameters.map(({ name, in: place, required, example }) => (
          <p>
            <label for={`${id}-${name}`}>
              <code>{name}</code>
              {!required && <span class="soft"> optional</span>}
            </label>
            <input
              id={`${id}-${name}`}
              name={name}
              data-in={place}
              required={required}
              placeholder={example}
            />
          </p>
        ))}
        {body !== undefined && (
          <p>
            <label for={`${id}-body`}>Body</label>
            <textarea id={`${id}-body`} name="body" data-in="body" rows={8} spellcheck={false}>
              {JSON.stringify(body, null, 2)}
            </textarea>
          </p>
        )}
        <button type="submit">Send in test mode</button>
        <div role="status" />
      </form>
    </details>
  )
}
