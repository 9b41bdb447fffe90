import { cellTag } from '../cells.ts'

/**
 * What the dashboard's cookies are called. `__Host-` binds them to this origin; browsers take it from a secure page alone. In
 * each cell they have a name of their own: a browser may be signed in to several.
 */
export const cookiePrefixOf = (baseUrl: string, cell: number): string =>
  `${baseUrl.startsWith('https:') ? '__Host-' : ''}paylink${cell === 0 ? '' : `_${cellTag(cell)}`}`

/** The cookie of a sign-in: a token, a point and a signature. */
export const sessionCookieOf = (baseUrl: string, cell: number): string =>
  `${cookiePrefixOf(baseUrl, cell)}.session_token`
