/** One spelling for each address, under which its guesses and messages are counted. */
export const canonicalEmail = (email: string): string => email.normalize('NFKC').trim().toLowerCase()
