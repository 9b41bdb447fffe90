/** One spelling for each address, under which its guesses and messages are counted. */
export const canonicalEmail = (email: string): string => email.normalize('NFKC').trim().toLowerCase()

/** Hosts that leave dots out of names: otherwise one mailbox would have thousands of addresses. */
const DOTLESS_HOSTS: readonly string[] = ['gmail.com', 'googlemail.com']

/**
 * One spelling for all addresses of a mailbox, by which messages to strangers are limited: a tag after `+` is left out, and
 * at Gmail the dots.
 */
export function mailboxOf(email: string): string {
  const [tagged = '', host = ''] = canonicalEmail(email).split('@')
  const name = tagged.replace(/\+.*$/, '')
  return DOTLESS_HOSTS.includes(host) ? `${name.replaceAll('.', '')}@gmail.com` : `${name}@${host}`
}
