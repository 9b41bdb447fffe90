/** HTTP Basic from the credentials of a URL (RFC 7617); null where it has none. */
export function basicAuthorization(url: URL): string | null {
  const credentials = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`
  return credentials === ':' ? null : `Basic ${Buffer.from(credentials, 'utf8').toString('base64')}`
}

/** Why a server could not be asked, with the fix: `server` names it, `setting` is where its URL was configured. */
export function explainConnection(error: unknown, server: string, setting: string): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  switch (code) {
    case 'ECONNREFUSED':
      return `${server} refuses the connection: start it, or correct ${setting}`
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `${server} has a name that does not resolve: correct ${setting}`
    case 'UND_ERR_CONNECT_TIMEOUT':
    case 'UND_ERR_HEADERS_TIMEOUT':
    case 'UND_ERR_BODY_TIMEOUT':
    case 'ETIMEDOUT':
      return `${server} does not answer in time`
    case 'UND_ERR_RES_EXCEEDED_MAX_SIZE':
      return `${server} sends more than any answer can have`
    default:
      return `${server} ended the connection${code === '' ? '' : ` (${code})`}`
  }
}
