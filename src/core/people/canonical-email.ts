/** One spelling for each address, under which its guesses and messages are counted. */
export const canonicalEmail = (email: string): string => email.normalize('NFKC').trim().toLowerCase()

/** One for all addresses of a mailbox, under which messages to strangers are counted: what follows a plus sign is the same person's. */
export function mailboxOf(email: string): string {
  const [name = '', host = ''] = canonicalEmail(email).split('@')
  return `${name.replace(/\+.*$/, '')}@${host}`
}
