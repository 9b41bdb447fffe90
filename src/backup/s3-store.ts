import { createHash } from 'node:crypto'
import { AwsClient } from 'aws4fetch'
import type { BackupTarget } from '../config/config-backup.ts'
import { describeError } from '../runtime/log.ts'
import { StartRefused } from '../runtime/start-refused.ts'
import { isBackupName } from './backup-name.ts'
import type { BackupStore } from './backup-store.ts'

/** A part of an upload: with at most 10,000 of them a backup may have 160 GB. Held in memory. */
const PART_BYTES = 16 * 1024 ** 2
const PARTS_MAX = 10_000
/** Of a list of names. */
const PAGES_MAX = 1_000
const REQUEST_MS_MAX = 120_000
const RETRIES = 4

/**
 * Backups as objects of an S3-compatible store, uploaded in parts: an object is there when its last request has
 * succeeded, and not before. Addressed by path, which every such store understands.
 */
export function s3Store(target: Extract<BackupTarget, { kind: 's3' }>): BackupStore {
  const { endpoint, region, bucket, prefix, accessKeyId, secretAccessKey } = target
  const client = new AwsClient({ accessKeyId, secretAccessKey, region, service: 's3', retries: RETRIES })
  const description = `s3://${bucket}${prefix === '' ? '' : `/${prefix}`}`
  const folder = prefix === '' ? '' : `${prefix}/`
  const urlOf = (name: string, query = '') => `${endpoint}/${bucket}/${folder}${name}${query}`

  const ask = async (method: string, url: string, body: Uint8Array | string = ''): Promise<Response> => {
    const bytes = Buffer.from(body)
    let response: Response
    try {
      response = await client.fetch(url, {
        method,
        ...(bytes.length === 0 ? {} : { body: bytes }),
        headers: { 'x-amz-content-sha256': createHash('sha256').update(bytes).digest('hex') },
        signal: AbortSignal.timeout(REQUEST_MS_MAX),
      })
    } catch (error) {
      throw new StartRefused(`${description} cannot be reached at ${endpoint}: ${describeError(error)}`, {
        cause: error,
      })
    }
    if (response.ok) return response
    const text = await response.text()
    const [code, message] = [tagOf(text, 'Code'), tagOf(text, 'Message')]
    const why = code === null ? '' : `: ${code}${message === null ? '' : `, ${message}`}`
    throw new StartRefused(`${description} answers ${method} with ${response.status}${why}`)
  }

  return {
    description,
    write: async (name, bytes) => {
      const begun = await (await ask('POST', urlOf(name, '?uploads='))).text()
      const id = tagOf(begun, 'UploadId')
      if (id === null) throw new StartRefused(`${description} began no upload`)
      const upload = `uploadId=${encodeURIComponent(id)}`
      try {
        const etags: string[] = []
        let written = 0
        for await (const part of partsOf(bytes)) {
          if (etags.length === PARTS_MAX) throw new StartRefused('the backup is too large for S3')
          const response = await ask('PUT', urlOf(name, `?partNumber=${etags.length + 1}&${upload}`), part)
          etags.push(response.headers.get('etag') ?? '')
          written += part.length
        }
        const answer = await (await ask('POST', urlOf(name, `?${upload}`), completion(etags))).text()
        // S3 may say 200 and then that it failed.
        if (tagOf(answer, 'ETag') === null)
          throw new StartRefused(`${description} did not complete the upload: ${tagOf(answer, 'Code')}`)
        return written
      } catch (error) {
        // Parts that stay are paid for and are no backup. What went wrong first is what is reported.
        await ask('DELETE', urlOf(name, `?${upload}`)).catch(() => {})
        throw error
      }
    },
    read: async function* (name) {
      const { body } = await ask('GET', urlOf(name))
      if (body === null) throw new StartRefused(`${description} gave no bytes of ${name}`)
      try {
        for await (const chunk of body) yield chunk
      } catch (error) {
        throw new StartRefused(`${name} could not be read to its end: ${describeError(error)}`, {
          cause: error,
        })
      }
    },
    list: async () => {
      const names: string[] = []
      let next: string | null = null
      for (let page = 0; page < PAGES_MAX; page++) {
        const query = new URLSearchParams({ 'list-type': '2', prefix: folder })
        if (next !== null) query.set('continuation-token', next)
        const text = await (await ask('GET', `${endpoint}/${bucket}?${query}`)).text()
        const keys = [...text.matchAll(/<Key>([^<]*)<\/Key>/g)].map(([, key = '']) => key)
        names.push(...keys.map((key) => key.slice(folder.length)).filter(isBackupName))
        next = tagOf(text, 'NextContinuationToken')
        if (next === null) break
      }
      return names.sort()
    },
    remove: async (name) => {
      await ask('DELETE', urlOf(name))
    },
  }
}

/** Pieces of one size; the last may be shorter, and is there even where there are no bytes. */
async function* partsOf(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let held: Uint8Array[] = []
  let length = 0
  for await (const chunk of bytes) {
    held.push(chunk)
    length += chunk.length
    if (length < PART_BYTES) continue
    yield Buffer.concat(held)
    held = []
    length = 0
  }
  yield Buffer.concat(held)
}

const completion = (etags: readonly string[]): string =>
  `<CompleteMultipartUpload>${etags
    .map((etag, index) => `<Part><PartNumber>${index + 1}</PartNumber><ETag>${etag}</ETag></Part>`)
    .join('')}</CompleteMultipartUpload>`

/** The text of the first element of that name. */
const tagOf = (xml: string, name: string): string | null =>
  new RegExp(`<${name}>([^<]*)</${name}>`)
    .exec(xml)?.[1]
    ?.replaceAll('&quot;', '"')
    .replaceAll('&amp;', '&') ?? null
