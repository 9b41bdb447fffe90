import { createHash, createHmac } from 'node:crypto'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'

/**
 * As much of S3 as a backup needs: objects by path, uploads in parts, lists. It checks every signature as S3 does
 * (Signature Version 4), from the request as it came, with nothing of the client's library.
 */
export type S3Server = {
  readonly url: string
  readonly objects: ReadonlyMap<string, Buffer>
  /** Uploads that were begun and neither completed nor given up. */
  readonly uploads: ReadonlyMap<string, unknown>
  /** Called with each part of an upload, before it is answered. */
  onPart: (part: Buffer) => Promise<void> | void
  stop(): Promise<void>
}

export const S3_KEYS = {
  id: 'AKIDEXAMPLE',
  secret: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
  region: 'eu-test-1',
}

const sha256 = (bytes: Buffer | string) => createHash('sha256').update(bytes).digest('hex')
const hmac = (key: Buffer | string, text: string) => createHmac('sha256', key).update(text).digest()
const encode = (text: string) =>
  encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)

/** The code of S3's refusal; null where the request is signed with our key over exactly what came. */
function refusal(request: IncomingMessage, url: URL, body: Buffer): string | null {
  const [, date, region, names, signature] =
    /^AWS4-HMAC-SHA256 Credential=[^/]+\/(\d{8})\/([^/]+)\/s3\/aws4_request, ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/.exec(
      request.headers.authorization ?? '',
    ) ?? []
  if (date === undefined || region !== S3_KEYS.region || names === undefined) return 'AccessDenied'
  if (!names.split(';').includes('host') || !names.split(';').includes('x-amz-date')) return 'AccessDenied'
  const payload = String(request.headers['x-amz-content-sha256'])
  if (payload !== sha256(body)) return 'XAmzContentSHA256Mismatch'
  const query = [...url.searchParams]
    .map(([name, value]) => `${encode(name)}=${encode(value)}`)
    .sort()
    .join('&')
  const headers = names.split(';').map((name) => `${name}:${String(request.headers[name]).trim()}\n`)
  const path = decodeURIComponent(url.pathname).split('/').map(encode).join('/')
  const canonical = [request.method, path, query, headers.join(''), names, payload].join('\n')
  const scope = `${date}/${region}/s3/aws4_request`
  const toSign = ['AWS4-HMAC-SHA256', request.headers['x-amz-date'], scope, sha256(canonical)].join('\n')
  const key = [region, 's3', 'aws4_request'].reduce<Buffer>(hmac, hmac(`AWS4${S3_KEYS.secret}`, date))
  return hmac(key, toSign).toString('hex') === signature ? null : 'SignatureDoesNotMatch'
}

export async function startS3Server(): Promise<S3Server> {
  const objects = new Map<string, Buffer>()
  const uploads = new Map<string, Map<number, Buffer>>()
  const hooks: { onPart: S3Server['onPart'] } = { onPart: () => {} }
  let begun = 0

  const answer = async (
    request: IncomingMessage,
  ): Promise<{ status: number; body: Buffer | string; etag?: string }> => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const body = Buffer.concat(chunks)
    const url = new URL(request.url ?? '', 'http://s3')
    const refused = refusal(request, url, body)
    if (refused !== null)
      return { status: 403, body: `<Error><Code>${refused}</Code><Message>no</Message></Error>` }
    const name = decodeURIComponent(url.pathname)
    const upload = url.searchParams.get('uploadId')
    const parts = uploads.get(upload ?? '')
    switch (request.method) {
      case 'POST': {
        if (url.searchParams.has('uploads')) {
          uploads.set(String(++begun), new Map())
          return { status: 200, body: `<R><UploadId>${begun}</UploadId></R>` }
        }
        if (parts === undefined || upload === null)
          return { status: 404, body: '<Error><Code>NoSuchUpload</Code></Error>' }
        const named = [...body.toString().matchAll(/<PartNumber>(\d+)<\/PartNumber><ETag>"?(\w+)"?<\/ETag>/g)]
        const whole = named.map(([, number, etag]) => {
          const part = parts.get(Number(number))
          return part !== undefined && sha256(part) === etag ? part : null
        })
        if (whole.length === 0 || whole.includes(null))
          return { status: 400, body: '<Error><Code>InvalidPart</Code></Error>' }
        objects.set(name, Buffer.concat(whole.flatMap((part) => part ?? [])))
        uploads.delete(upload)
        return { status: 200, body: '<R><ETag>"whole"</ETag></R>' }
      }
      case 'PUT': {
        if (parts === undefined) return { status: 404, body: '<Error><Code>NoSuchUpload</Code></Error>' }
        await hooks.onPart(body)
        parts.set(Number(url.searchParams.get('partNumber')), body)
        return { status: 200, body: '', etag: `"${sha256(body)}"` }
      }
      case 'DELETE':
        if (upload === null) objects.delete(name)
        else uploads.delete(upload)
        return { status: 204, body: '' }
      default: {
        if (url.searchParams.get('list-type') === '2') {
          const prefix = url.searchParams.get('prefix') ?? ''
          const keys = [...objects.keys()]
            .map((key) => key.slice(name.length + 1))
            .filter((key) => key.startsWith(prefix))
          return {
            status: 200,
            body: `<R>${keys.map((key) => `<Contents><Key>${key}</Key></Contents>`).join('')}</R>`,
          }
        }
        const object = objects.get(name)
        return object === undefined
          ? { status: 404, body: '<Error><Code>NoSuchKey</Code></Error>' }
          : { status: 200, body: object }
      }
    }
  }

  const server = createServer((request, response) => {
    answer(request).then(
      ({ status, body, etag }) =>
        response.writeHead(status, { ...(etag === undefined ? {} : { etag }) }).end(body),
      () => response.destroy(),
    )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    objects,
    uploads,
    get onPart() {
      return hooks.onPart
    },
    set onPart(hook) {
      hooks.onPart = hook
    },
    stop: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
