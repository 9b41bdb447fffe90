import { open, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { readPrivateFile } from '../../signer/private-file.ts'
import { SignerRefused } from '../../signer/refused.ts'

/** Something that was seen: `key` names it within its kind. */
type Sighting = { readonly key: string; readonly seenAt: Date }

const OWNER_ONLY = 0o600
const LINE_END = 0x0a
/** Maximum UTF-16 code units of a key; a longer one was written to fill the disk. */
const KEY_LENGTH_MAX = 1_000

const lineSchema = z.union([
  z.object({ kind: z.string(), key: z.string(), seen_at: z.int() }),
  z.object({ kind: z.string(), began_at: z.int() }),
])
type Line = z.infer<typeof lineSchema>

const firstSeenPath = (folder: string): string => join(folder, 'first-seen.jsonl')

/**
 * Since when the signer knows something, in a file of its own that only grows: times in the database may have been
 * written by an attacker who profits from them. Of several times for one thing the earliest counts.
 */
export class FirstSeen {
  readonly #path: string
  /** Bytes of the file, as far as this process read or wrote it. */
  #size = 0
  /** Milliseconds by key, by kind. */
  readonly #kinds = new Map<string, Map<string, number>>()
  /** Keys by kind and first word. */
  readonly #words = new Map<string, number>()
  readonly #begun = new Set<string>()

  private constructor(path: string) {
    this.#path = path
  }

  /**
   * Reads the file of a folder, which need not exist. A last line that a crash cut off goes; damage elsewhere throws
   * `SignerRefused`. `reads`: a signer may be writing to the file, and nothing is changed.
   */
  static async open(folder: string, mode: 'writes' | 'reads' = 'writes'): Promise<FirstSeen> {
    const seen = new FirstSeen(firstSeenPath(folder))
    const content = await readPrivateFile(seen.#path)
    if (content === null) return seen
    seen.#size = content.lastIndexOf(LINE_END) + 1
    if (seen.#size < content.length && mode === 'writes') await truncate(seen.#path, seen.#size)
    const lines = content.toString('utf8', 0, seen.#size).split('\n').slice(0, -1)
    lines.forEach((line, index) => {
      seen.#remember(seen.#parse(line, index + 1))
    })
    return seen
  }

  /** Since when this is known; null where it was never seen. */
  since(kind: string, key: string): Date | null {
    const ms = this.#kinds.get(kind)?.get(key)
    return ms === undefined ? null : new Date(ms)
  }

  /** The keys of a kind that were known before a time. */
  keysBefore(kind: string, time: Date): string[] {
    return [...(this.#kinds.get(kind) ?? [])].flatMap(([key, ms]) => (ms < time.getTime() ? [key] : []))
  }

  /** How many keys of a kind are known since a time in (`after`, `until`]. */
  countBetween(kind: string, after: Date, until: Date): number {
    const [from, to] = [after.getTime(), until.getTime()]
    let count = 0
    for (const ms of this.#kinds.get(kind)?.values() ?? []) if (ms > from && ms <= to) count++
    return count
  }

  /** How many keys of a kind are known in all, and how many begin with this word. */
  counts(kind: string, word: string): { readonly all: number; readonly ofWord: number } {
    return { all: this.#kinds.get(kind)?.size ?? 0, ofWord: this.#words.get(`${kind} ${word}`) ?? 0 }
  }

  /** Whether a kind was begun: false on the first start of a release that knows it, and where the file was lost. */
  hasBegun(kind: string): boolean {
    return this.#begun.has(kind)
  }

  /** Begins a kind with what is known of it already. Resolves once it is on the disk; may be repeated after a crash. */
  async begin(kind: string, known: readonly Sighting[], now: Date): Promise<void> {
    // The line that says the kind has begun comes last, so that after a crash it is begun again.
    await this.#append([...linesOf(kind, known), { kind, began_at: now.getTime() }])
  }

  /**
   * Keeps what was not seen before, or at a time that is still to come: the clock was ahead then. Resolves once it is on the disk.
   */
  async note(kind: string, sightings: readonly Sighting[]): Promise<void> {
    const unknown = sightings.filter(({ key, seenAt }) => {
      const since = this.since(kind, key)
      return since === null || since > seenAt
    })
    if (unknown.length > 0) await this.#append(linesOf(kind, unknown))
  }

  /** Throws if the file is not as this process left it: it must be read again before anything is added. */
  async #append(lines: readonly Line[]): Promise<void> {
    const bytes = Buffer.from(lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
    const file = await open(this.#path, 'a', OWNER_ONLY)
    try {
      const { size } = await file.stat()
      if (size !== this.#size) throw new Error(`${this.#path} was written to since this process read it`)
      await file.appendFile(bytes)
      await file.sync()
      this.#size += bytes.length
    } finally {
      await file.close()
    }
    for (const line of lines) this.#remember(line)
  }

  #parse(line: string, number: number): Line {
    try {
      return lineSchema.parse(JSON.parse(line))
    } catch (error) {
      throw new SignerRefused(
        `line ${number} of ${this.#path} is damaged: restore the file, or delete it and let live payouts wait until everything in it has been known for long enough again`,
        { cause: error },
      )
    }
  }

  #remember(line: Line): void {
    if ('began_at' in line) {
      this.#begun.add(line.kind)
      return
    }
    const keys = this.#kinds.get(line.kind) ?? new Map<string, number>()
    if (!keys.has(line.key)) {
      const words = `${line.kind} ${line.key.split(' ', 1)[0]}`
      this.#words.set(words, (this.#words.get(words) ?? 0) + 1)
    }
    keys.set(line.key, Math.min(line.seen_at, keys.get(line.key) ?? line.seen_at))
    this.#kinds.set(line.kind, keys)
  }
}

function linesOf(kind: string, sightings: readonly Sighting[]): Line[] {
  const tooLong = sightings.find(({ key }) => key.length > KEY_LENGTH_MAX)
  if (tooLong !== undefined) throw new Error(`a key of ${kind} has ${tooLong.key.length} characters`)
  return sightings.map(({ key, seenAt }) => ({ kind, key, seen_at: seenAt.getTime() }))
}
