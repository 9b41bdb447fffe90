import { withoutSecrets } from '../runtime/log.ts'

/** Settings that are secret as a whole. Of all others that are URLs, what stands before and behind the host is. */
const SECRET_NAME = /KEY|SECRET|PASSWORD|TOKEN/
const FILE_NAME = /_FILE$/
/** Every part of a URL but these may be a key: `api`, `v2`, `mainnet`. */
const PLAIN_PART = /^(?:[a-z]{1,12}|v\d{1,2}|\d{1,5})$/
/** Shorter ones would black out half a report, and are no secrets. */
const SECRET_LENGTH_MIN = 4
const EMAIL = /[^\s@<>"'=:/]{1,100}@[^\s@<>"']{1,200}/g
/** SMTP and HTTP send a name and its password so. */
const BASE64 = /[\w+/-]{6,}={0,2}/g
const REDACTED = '[redacted]'

/**
 * Makes a text fit to be shown to anybody: without the secrets of these settings, however a provider repeats them,
 * without credentials and email addresses.
 */
export function redactorOf(settings: { readonly [name: string]: string }): (text: string) => string {
  const secrets = Object.entries(settings)
    .flatMap(([name, value]) => secretsOf(name, value))
    .flatMap((secret) => [secret, encodeURIComponent(secret)])
    .filter((secret) => secret.length >= SECRET_LENGTH_MIN)
    // The longest first: one may be part of another.
    .sort((a, b) => b.length - a.length)
  const holdsSecret = (word: string) => {
    const bytes = Buffer.from(word, 'base64')
    return secrets.some((secret) => bytes.includes(secret))
  }
  return (text) =>
    withoutSecrets(secrets.reduce((left, secret) => left.replaceAll(secret, REDACTED), text))
      .replace(BASE64, (word) => (holdsSecret(word) ? REDACTED : word))
      .replace(EMAIL, REDACTED)
}

function secretsOf(name: string, value: string): string[] {
  const isSecret = SECRET_NAME.test(name) && !FILE_NAME.test(name)
  return value
    .split(/[\s,]+|\\n/)
    .flatMap((part) => (URL.canParse(part) ? secretsOfUrl(new URL(part)) : isSecret ? [part] : []))
}

function secretsOfUrl({ username, password, pathname, search, hash }: URL): string[] {
  const path = pathname.split('/')
  const query = [...new URLSearchParams(search)].flat()
  return [username, password, ...path, ...query, hash.slice(1)]
    .flatMap((part) => [part, decoded(part)])
    .filter((part) => !PLAIN_PART.test(part))
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch (error) {
    if (error instanceof URIError) return part
    throw error
  }
}
