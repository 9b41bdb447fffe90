/** One spelling for each address, under which its guesses and messages are counted. */
export const canonicalEmail = (email: string): string => email.normalize('NFKC').trim().toLowerCase()

/** One spelling for all addresses of a mailbox, by which messages to strangers are limited: a tag after `+` is left out. */
export function mailboxOf(email: string): string {
  const [name = '', host = ''] = canonicalEmail(email).split('@')
  return `${name.replace(/\+.*$/, '')}@${host}`
}
