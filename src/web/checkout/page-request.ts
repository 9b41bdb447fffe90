import type { Context } from 'hono'
import { type Language, languageAccepted, languageNamed } from './language.ts'

/** In what language a page was asked for. */
export type PageLanguage = {
  readonly language: Language
  /** `?lang=…` if the URL has one, for links and forms to carry on; else empty. */
  readonly langQuery: string
}

/** The language of `?lang=`, else the browser's. An unknown value, or more than one, is ignored. */
export function languageOf(c: Context): PageLanguage {
  const named = c.req.queries('lang')
  const language = named?.length === 1 ? languageNamed(named[0]) : null
  if (language !== null) return { language, langQuery: `?lang=${language.tag}` }
  return { language: languageAccepted(c.req.header('accept-language')), langQuery: '' }
}

/** The query to which a page of this language sends one of its forms. */
export function formQuery(page: PageLanguage, form: string): string {
  const query = new URLSearchParams(page.langQuery)
  query.set('form', form)
  return `?${query}`
}

/** Whether a form was sent from our own pages, by what the browser says. */
export function isOwnForm(c: Context): boolean {
  return ['same-origin', 'none', undefined].includes(c.req.header('sec-fetch-site'))
}

/**
 * The fields of a form that has no others than `allowed`, each at most once; null for anything else, a body of
 * another kind included, and for a form that the buyer's connection cut off: nobody waits for what is wrong with it.
 */
export async function formFields<Name extends string>(
  c: Context,
  allowed: readonly Name[],
): Promise<{ readonly [name in Name]?: string } | null> {
  const fields: { [name in Name]?: string } = {}
  const text = await c.req.text().catch(() => null)
  if (text === null) return null
  for (const [name, value] of new URLSearchParams(text)) {
    const known = allowed.find((one) => one === name)
    if (known === undefined || fields[known] !== undefined) return null
    fields[known] = value
  }
  return fields
}
