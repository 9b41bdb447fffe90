type StrictUrlRefusal = 'malformed' | 'scheme' | 'credentials'

type StrictUrl =
  | { readonly kind: 'read'; readonly url: URL }
  | { readonly kind: 'refused'; readonly reason: StrictUrlRefusal }

/** Blanks, control characters and backslashes: URL parsers disagree about them, or drop them silently. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const TREACHEROUS = /[\s\u0000-\u0020\u007f-\u009f\\]/u

/**
 * An absolute URL of one of `schemes` (`https:`) that every program reads alike: with a host, and without a user name
 * or password, be they empty.
 */
export function readStrictUrl(text: string, schemes: readonly string[]): StrictUrl {
  if (TREACHEROUS.test(text) || !URL.canParse(text)) return { kind: 'refused', reason: 'malformed' }
  const url = new URL(text)
  if (!schemes.includes(url.protocol)) return { kind: 'refused', reason: 'scheme' }
  // `https://host` and `https:host` parse alike; only the first is what everybody else reads.
  if (!/^https?:\/\/[^/]/i.test(text) || url.hostname === '') return { kind: 'refused', reason: 'malformed' }
  if (url.username !== '' || url.password !== '' || authorityOf(text).includes('@'))
    return { kind: 'refused', reason: 'credentials' }
  return { kind: 'read', url }
}

/** What stands between `//` and the path: `https://@host` has credentials that are empty, which parsing hides. */
function authorityOf(text: string): string {
  return /^[a-z]+:\/\/([^/?#]*)/i.exec(text)?.[1] ?? ''
}
