import { ERROR_TYPES } from '../../wire/error-types.ts'
import { ERROR_CODES, ERRORS } from '../../wire/errors.ts'
import { docsPage } from './docs-layout.tsx'

/** The catalogue of errors; each `doc_url` leads here. */
export function renderErrorCatalogue(): string {
  return docsPage(
    'Errors',
    'errors',
    <ul>
      {ERROR_CODES.map((code) => (
        <li>
          <a href={`#${code}`}>{code}</a>
        </li>
      ))}
    </ul>,
    <>
      <h1>Errors</h1>
      <p>
        Every answer that is not 2xx has one shape, with a <code>type</code> of {ERROR_TYPES.length} and a{' '}
        <code>code</code> from this list. Codes are never renamed; messages may change.{' '}
        <a href="/docs">Back to the reference.</a>
      </p>
      {ERROR_CODES.map((code) => (
        <section id={code}>
          <h2>
            <code>{code}</code>
          </h2>
          <p class="soft">
            HTTP {ERRORS[code].status} · <code>{ERRORS[code].type}</code>
          </p>
          <p>{ERRORS[code].message}</p>
        </section>
      ))}
    </>,
  )
}
