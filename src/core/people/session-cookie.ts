/** What the dashboard's cookies are called. `__Host-` binds them to this origin; browsers take it from a secure page alone. */
export const cookiePrefixOf = (baseUrl: string): string =>
  baseUrl.startsWith('https:') ? '__Host-paylink' : 'paylink'

/** The cookie of a sign-in: a token, a point and a signature. */
export const sessionCookieOf = (baseUrl: string): string => `${cookiePrefixOf(baseUrl)}.session_token`
