import type { Context } from 'hono'
import { renderPlainDocument } from './document.tsx'
import { languageOf } from './page-request.ts'

const PAGES = {
  missing: { icon: 'search', reload: 'never' },
  refused: { icon: 'alert', reload: 'never' },
  problem: { icon: 'alert', reload: 'always' },
  busy: { icon: 'clock', reload: 'never' },
  bad_amount: { icon: 'alert', reload: 'never' },
} as const

/** A page of plain words in the buyer's language, for everything that is not a payment's page. */
export function plainPage(
  c: Context,
  kind: keyof typeof PAGES,
  status: 400 | 404 | 413 | 429 | 503,
): Response | Promise<Response> {
  const { language } = languageOf(c)
  const { messages } = language
  const text = { title: messages[`${kind}_title`], lead: messages[`${kind}_lead`], ...PAGES[kind] }
  return c.html(renderPlainDocument(language, text), status)
}

/** One page for everything that opens nothing: tampered with, another mode's, expired, or never issued. */
export const missing = (c: Context): Response | Promise<Response> => plainPage(c, 'missing', 404)

/** For a path that no part of the site has: nothing on it is of a shop. */
export function unknownPage(c: Context): string {
  const { language } = languageOf(c)
  const { messages } = language
  return renderPlainDocument(language, {
    title: messages.unknown_title,
    lead: messages.unknown_lead,
    icon: 'search',
    reload: 'never',
  })
}

/** For a form that none of our pages sends. */
export const refused = (c: Context): Response | Promise<Response> => plainPage(c, 'refused', 400)
