import { html, raw } from 'hono/html'
import type { Child } from 'hono/jsx'
import { hashOf, readBuilt } from '../../web/built-files.ts'
import { ICON } from '../../web/icon.ts'

const STYLE = readBuilt('docs.css')
const SCRIPT = readBuilt('docs.js')

/**
 * Nothing but our own inline style and script may load. The script asks this server alone: the search's index, and what
 * a reader tries.
 */
export const DOCS_CSP = `default-src 'none'; style-src ${hashOf(STYLE)}; script-src ${hashOf(SCRIPT)}; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`

/** From every page of the documentation. */
export const DASHBOARD = '/dashboard/'

const PARTS = {
  guides: { name: 'Guides', path: '/docs/guides' },
  reference: { name: 'API reference', path: '/docs' },
  errors: { name: 'Errors', path: '/docs/errors' },
} as const

/**
 * One page of the documentation: what leads to its parts, and the parts. Complete without its script.
 */
export function docsPage(
  title: string,
  part: keyof typeof PARTS | null,
  navigation: Child,
  content: Child,
): string {
  const body = (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>{`${title} · Paylink`}</title>
        <link rel="icon" href={ICON} />
        <style>{raw(STYLE)}</style>
      </head>
      <body>
        <Header part={part} />
        <div class="page">
          <main>{content}</main>
          <nav class="contents" id="contents" aria-label="Contents">
            {navigation}
          </nav>
        </div>
        <script>{raw(SCRIPT)}</script>
      </body>
    </html>
  )
  return String(html`<!doctype html>${body}`)
}

const Header = ({ part }: { part: keyof typeof PARTS | null }) => (
  <header>
    <nav aria-label="Documentation">
      {Object.entries(PARTS).map(([key, { name, path }]) => (
        <a href={path} aria-current={key === part ? 'page' : undefined}>
          {name}
        </a>
      ))}
      <a href={DASHBOARD}>Dashboard</a>
      <a class="to-contents" href="#contents">
        Contents
      </a>
    </nav>
    <search hidden>
      <input type="search" id="search" placeholder="Search  /" aria-label="Search the documentation" />
      <p class="soft" role="status" />
      <ul />
    </search>
  </header>
)
