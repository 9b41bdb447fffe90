import { docsPage } from './docs-layout.tsx'

/** For a person who followed a link that leads nowhere. */
export function renderNotFound(): string {
  return docsPage(
    'Page not found',
    null,
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
