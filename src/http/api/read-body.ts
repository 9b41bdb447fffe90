import { ApiProblem } from './problem.ts'

/** Bytes of the largest request body. */
const BODY_BYTES_MAX = 64 * 1024

const JSON_TYPE = /^application\/json(?:[ \t]*;[ \t]*charset=(?:utf-8|"utf-8"))?[ \t]*$/i

/**
 * The body's bytes, none where there is no body. One parser, one type: what is not declared as JSON is not looked
 * at. Throws `unsupported_media_type` and, as soon as it is known, `body_too_large`, in this order.
 */
export async function readBody(request: Request, isRequired: boolean): Promise<Uint8Array> {
  const length = request.headers.get('content-length')
  const isDeclared = length === null ? request.headers.has('transfer-encoding') : length !== '0'
  if (isDeclared || isRequired) checkContentType(request)
  if (!isDeclared && length !== null) return new Uint8Array()
  if (length !== null) {
    if (!(Number(length) <= BODY_BYTES_MAX)) throw tooLarge()
    // Node's parser has the last word on how long a body of declared length is.
    return new Uint8Array(await request.arrayBuffer().catch(refuseCutOff))
  }
  return readStream(request).catch(refuseCutOff)
}

/** A caller who hangs up within a body: the error has the code of a lost connection to the database, and is none. */
function refuseCutOff(error: unknown): never {
  if (error instanceof ApiProblem) throw error
  throw new ApiProblem('body_invalid', { cause: error })
}

async function readStream(request: Request): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let size = 0
  if (request.body === null) return new Uint8Array()
  for await (const chunk of request.body) {
    if (size === 0 && chunk.byteLength > 0) checkContentType(request)
    size += chunk.byteLength
    if (size > BODY_BYTES_MAX) throw tooLarge()
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function checkContentType(request: Request): void {
  const encoding = request.headers.get('content-encoding')
  const isPlain = encoding === null || encoding.toLowerCase() === 'identity'
  if (!isPlain || !JSON_TYPE.test(request.headers.get('content-type') ?? '')) {
    throw new ApiProblem('unsupported_media_type')
  }
}

/** What is left of the body is not waited for: the connection ends with the answer. */
const tooLarge = (): ApiProblem => new ApiProblem('body_too_large', { headers: { connection: 'close' } })
