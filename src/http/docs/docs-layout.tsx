import { html, raw } from 'hono/html'
import type { Child } from 'hono/jsx'
import { hashOf, readBuilt } from '../../web/built-files.ts'

const STYLE = readBuilt('docs.css')

/** Nothing but our own inline style may load: no script, no font, no picture. */
export const DOCS_CSP = `default-src 'none'; style-src ${hashOf(STYLE)}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`

/** One page of the documentation: what leads to its parts, and the parts. */
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
