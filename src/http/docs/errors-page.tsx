import { html, raw } from 'hono/html'
import type { Child } from 'hono/jsx'
import { hashOf, readBuilt } from '../../web/built-files.ts'
import { ERROR_TYPES } from '../../wire/error-types.ts'
import { ERROR_CODES, ERRORS } from '../../wire/errors.ts'

const STYLE = readBuilt('docs.css')

/** Nothing but our own inline style may load: no script, no font, no picture. */
export const DOCS_CSP = `default-src 'none'; style-src ${hashOf(STYLE)}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`

/** The catalogue of errors; each `doc_url` leads here. */
export function renderErrorCatalogue(): string {
  return docsPage(
    'Errors',
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

/** For a person who followed a link that leads nowhere. */
export function renderNotFound(): string {
  return docsPage(
    'Page not found',
    <ul>
      <li>
        <a href="/dashboard/">Dashboard</a>
      </li>
      <li>
        <a href="/docs">API reference</a>
      </li>
    </ul>,
    <>
      <h1>Page not found</h1>
      <p>Check the address, or ask whoever gave you the link for a new one.</p>
    </>,
  )
}

export function docsPage(title: string, navigation: Child, content: Child): string {
  const body = (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>{title}</title>
        <style>{raw(STYLE)}</style>
      </head>
      <body>
        <div class="page">
          <nav aria-label="Contents">{navigation}</nav>
          <main>{content}</main>
        </div>
      </body>
    </html>
  )
  return String(html`<!doctype html>${body}`)
}
