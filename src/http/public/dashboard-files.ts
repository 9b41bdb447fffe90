import { readdir, readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import type { HttpPart } from '../server.ts'

const PREFIX = '/dashboard'
const ORIGIN_MARK = '__PAYLINK_ORIGIN__'
const YEAR_SECONDS = 31_536_000
/** An icon's name says nothing of its content. */
const ICON_SECONDS = 3_600

const TYPES: { readonly [extension: string]: string } = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/** Scripts, styles and requests only from here, as files of their own; no page may frame it. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

type Bytes = Uint8Array<ArrayBuffer>
type File = {
  readonly type: string
  readonly plain: Bytes
  /** By the name of the coding that made it. */
  readonly compressed: { readonly [coding: string]: Bytes }
}

/**
 * The dashboard as it was built, held in memory: files named by the hash of their content for a year, and the page
 * itself for every other address below `/dashboard`, since the pages are made in the browser. `/` leads there.
 */
export async function createDashboardPart(options: { folder: string; baseUrl: string }): Promise<HttpPart> {
  const files = await readFiles(options.folder)
  const index = files.get('/index.html')
  if (index === undefined) throw new Error(`no dashboard in ${options.folder}: npm run build makes it`)
  const page = toBytes(Buffer.from(index.plain).toString('utf8').replace(ORIGIN_MARK, options.baseUrl))
  const answer = (request: Request): Response => {
    const { pathname } = new URL(request.url)
    if (pathname === '/' || pathname === PREFIX) {
      return new Response(null, { status: 302, headers: { ...SECURITY_HEADERS, location: `${PREFIX}/` } })
    }
    const path = pathname.slice(PREFIX.length)
    const file = path === '/index.html' ? undefined : files.get(path)
    if (file !== undefined) return fileResponse(file, path, request)
    if (path.startsWith('/assets/'))
      return new Response('Not found\n', { status: 404, headers: SECURITY_HEADERS })
    return new Response(page, {
      headers: { ...SECURITY_HEADERS, 'content-type': TYPES['.html'] ?? '', 'cache-control': 'no-cache' },
    })
  }
  return {
    name: 'dashboard',
    owns: (path) => path === '/' || path === PREFIX || path.startsWith(`${PREFIX}/`),
    fetch: (request) => {
      if (request.method === 'GET' || request.method === 'HEAD') return answer(request)
      return new Response('Method not allowed\n', {
        status: 405,
        headers: { ...SECURITY_HEADERS, allow: 'GET, HEAD' },
      })
    },
  }
}

function fileResponse(file: File, path: string, request: Request): Response {
  const wanted = request.headers.get('accept-encoding') ?? ''
  const coding = ['br', 'gzip'].find((name) =>
    new RegExp(`\\b${name}\\b(?!;q=0(?:\\.0*)?\\s*(?:,|$))`).test(wanted),
  )
  const compressed = coding === undefined ? undefined : file.compressed[coding]
  const cache = path.startsWith('/assets/')
    ? `public, max-age=${YEAR_SECONDS}, immutable`
    : `public, max-age=${ICON_SECONDS}`
  return new Response(compressed ?? file.plain, {
    headers: {
      ...SECURITY_HEADERS,
      'content-type': file.type,
      'cache-control': cache,
      vary: 'accept-encoding',
      ...(coding === undefined || compressed === undefined ? {} : { 'content-encoding': coding }),
    },
  })
}

const SECURITY_HEADERS = {
  'content-security-policy': CONTENT_SECURITY_POLICY,
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  // Emails lead here with tokens in the address.
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
}

async function readFiles(folder: string): Promise<ReadonlyMap<string, File>> {
  const names = await readdir(folder, { recursive: true })
  const read = async (name: string): Promise<Bytes> => toBytes(await readFile(join(folder, name)))
  const compressedForm = async (coding: string, name: string): Promise<{ [coding: string]: Bytes }> =>
    names.includes(name) ? { [coding]: await read(name) } : {}
  const found = names.flatMap((name) => {
    const type = TYPES[extname(name)]
    return type === undefined ? [] : [{ name, type }]
  })
  const files = found.map(async ({ name, type }): Promise<[string, File]> => {
    const compressed = {
      ...(await compressedForm('br', `${name}.br`)),
      ...(await compressedForm('gzip', `${name}.gz`)),
    }
    return [`/${name.replaceAll('\\', '/')}`, { type, plain: await read(name), compressed }]
  })
  return new Map(await Promise.all(files))
}

const toBytes = (content: string | Buffer): Bytes => new Uint8Array(Buffer.from(content))
