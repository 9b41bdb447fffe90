import { Readable } from 'node:stream'
import { createGunzip, createGzip } from 'node:zlib'
import { Decrypter, Encrypter } from 'age-encryption'
import { createTarDecoder, packTar } from 'modern-tar'
import { describeError } from '../runtime/log.ts'
import { StartRefused } from '../runtime/start-refused.ts'

/** A backup is files in tar, gzip and age: `age -d -i KEY backup.age | tar xz` opens it without Paylink. */

export type ArchiveEntry = { readonly name: string; readonly bytes: Uint8Array }

/** What ends a tar archive: two blocks of zeros. */
const TAR_END_BYTES = 1_024

/** The encrypted bytes of the files, one file in memory at a time. */
export async function sealArchive(
  entries: AsyncIterable<ArchiveEntry>,
  recipients: readonly string[],
): Promise<AsyncIterable<Uint8Array>> {
  const encrypter = new Encrypter()
  for (const recipient of recipients) encrypter.addRecipient(recipient)
  const tar = Readable.from(tarOf(entries), { objectMode: false })
  const zipped = createGzip()
  tar.once('error', (error) => zipped.destroy(error))
  return encrypter.encrypt(toWeb(tar.pipe(zipped)))
}

async function* tarOf(entries: AsyncIterable<ArchiveEntry>): AsyncGenerator<Uint8Array> {
  for await (const { name, bytes } of entries) {
    const packed = await packTar([
      { header: { name, size: bytes.length, type: 'file', mode: 0o600 }, body: bytes },
    ])
    yield packed.subarray(0, packed.length - TAR_END_BYTES)
  }
  yield new Uint8Array(TAR_END_BYTES)
}

/**
 * The files of a backup, in their order. Throws `StartRefused`: the key is another, or the backup is damaged, which may
 * come out after files were given. A backup that was not read to its end is not known to be whole.
 */
export async function* openArchive(
  bytes: AsyncIterable<Uint8Array>,
  identity: string,
): AsyncGenerator<ArchiveEntry> {
  const decrypter = new Decrypter()
  decrypter.addIdentity(identity)
  try {
    const opened = await decrypter.decrypt(toWeb(Readable.from(bytes, { objectMode: false })))
    const clear = Readable.from(opened)
    const unzipped = createGunzip()
    clear.once('error', (error) => unzipped.destroy(error))
    for await (const { header, body } of toWeb(clear.pipe(unzipped)).pipeThrough(
      createTarDecoder({ strict: true }),
    )) {
      const held: Uint8Array[] = []
      for await (const chunk of body) held.push(chunk)
      yield { name: header.name, bytes: Buffer.concat(held) }
    }
  } catch (error) {
    if (error instanceof StartRefused) throw error
    throw refusal(error)
  }
}

function refusal(error: unknown): Error {
  const message = describeError(error)
  if (/no identity matched/i.test(message)) {
    return new StartRefused('this key does not open the backup, which was encrypted to another', {
      cause: error,
    })
  }
  return new StartRefused(`the backup is damaged or not whole: ${message}; use another one`, { cause: error })
}

/** Node's own types of web streams and those of its global ones are the same at run time. */
const toWeb = (stream: Readable): ReadableStream<Uint8Array> =>
  Readable.toWeb(stream) as ReadableStream<Uint8Array>
