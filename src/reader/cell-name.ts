import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { Refused } from './refused.ts'

const NAME_MAX = 64

/** Who asks: the user name of its URL, or where it comes from. Throws `Refused` where it shows no token, or is a browser. */
export function cellOf({ headers, socket }: IncomingMessage, token: string | null): string {
  // Without a token, any page could use a wallet's methods with the node's password from a browser of this machine.
  if (headers.origin !== undefined) throw new Refused(403, 'a web page is no cell')
  const [, encoded = ''] = /^Basic (\S+)$/i.exec(headers.authorization ?? '') ?? []
  const [, name = '', password = ''] =
    /^([^:]*):(.*)$/s.exec(Buffer.from(encoded, 'base64').toString('utf8')) ?? []
  if (token !== null && !timingSafeEqual(digestOf(password), digestOf(token)))
    throw new Refused(401, 'the password of the URL is not READER_TOKEN')
  return name === '' ? (socket.remoteAddress ?? '') : name.slice(0, NAME_MAX)
}

const digestOf = (text: string): Buffer => createHash('sha256').update(text).digest()
