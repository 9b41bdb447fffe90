import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { z } from 'zod'

/**
 * What happened on the chain, in order, one JSON line each: replayed on the same virtual machine it gives the same
 * state. A line is written before its consequence is reported to anybody, so that a killed process loses nothing that
 * it reported. A torn last line was reported to nobody.
 */
const entrySchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('accepted'), bytes: z.string(), held: z.boolean() }),
  z.strictObject({ kind: z.literal('released'), signature: z.string() }),
  z.strictObject({ kind: z.literal('forgotten'), signature: z.string() }),
  z.strictObject({
    kind: z.literal('block'),
    slot: z.int(),
    time: z.int(),
    signatures: z.array(z.string()),
    hash: z.string(),
  }),
  z.strictObject({ kind: z.literal('back'), slot: z.int(), held: z.array(z.string()) }),
])
export type JournalEntry = z.output<typeof entrySchema>

export class SlotJournalDamaged extends Error {
  override name = 'SlotJournalDamaged'
}

/** The chain's file: a base to start from, and the lines since. Both are replaced together, by a rename. */
export class SlotJournal {
  readonly #path: string
  #file: number
  #lines = 0
  readonly #onAppend: (() => void) | undefined

  private constructor(path: string, lines: number, onAppend?: () => void) {
    this.#onAppend = onAppend
    this.#path = path
    this.#file = openSync(path, 'a', 0o600)
    this.#lines = lines
  }

  /** The stored base and lines; `makeBase` says what a chain begins with that is new. */
  static open(
    path: string,
    makeBase: () => string,
    onAppend?: () => void,
  ): { journal: SlotJournal; base: string; entries: JournalEntry[] } {
    if (!existsSync(path)) replace(path, makeBase())
    const content = readFileSync(path)
    const text = content.toString('utf8')
    const complete = text.lastIndexOf('\n') + 1
    if (complete === 0)
      throw new SlotJournalDamaged(`${path} is damaged: delete it to begin a new sandbox chain`)
    if (complete < text.length) truncateSync(path, Buffer.byteLength(text.slice(0, complete)))
    const [base = '', ...lines] = text.slice(0, complete - 1).split('\n')
    const entries = lines.map((line, index) => parseEntry(path, line, index))
    return { journal: new SlotJournal(path, lines.length, onAppend), base, entries }
  }

  /** Lines since the base. */
  get lines(): number {
    return this.#lines
  }

  append(entry: JournalEntry): void {
    writeSync(this.#file, `${JSON.stringify(entry)}\n`)
    this.#lines += 1
    this.#onAppend?.()
  }

  /** Begins again from a new base, in one step. */
  rebase(base: string): void {
    replace(this.#path, base)
    closeSync(this.#file)
    this.#file = openSync(this.#path, 'a', 0o600)
    this.#lines = 0
  }

  close(): void {
    fsyncSync(this.#file)
    closeSync(this.#file)
  }
}

function parseEntry(path: string, line: string, index: number): JournalEntry {
  try {
    return entrySchema.parse(JSON.parse(line))
  } catch (error) {
    throw new SlotJournalDamaged(
      `line ${index + 2} of ${path} is damaged: delete the file to begin a new sandbox chain`,
      {
        cause: error,
      },
    )
  }
}

function replace(path: string, base: string): void {
  const temporary = `${path}.new`
  if (existsSync(temporary)) unlinkSync(temporary)
  writeFileSync(temporary, `${base}\n`, { mode: 0o600, flush: true })
  renameSync(temporary, path)
}
