import { join } from 'node:path'
import { z } from 'zod'
import type { ApprovedPayout } from '../../secrets/approval-evidence.ts'
import { readPrivateFile, replacePrivateFile } from '../../signer/private-file.ts'
import { SignerRefused } from '../../signer/refused.ts'

/** Approvals remembered: far more than can wait for their signature at a time. */
const ACCEPTED_MAX = 5_000
/** People whose codes are remembered; of more the one who has given none for longest is forgotten. */
const PEOPLE_MAX = 5_000
const WRONG_PER_HOUR_MAX = 5
const HOUR_MS = 3_600_000

const codesSchema = z.object({ steps: z.array(z.int()), wrong: z.array(z.int()) })
type Codes = z.infer<typeof codesSchema>
const fileSchema = z.strictObject({
  version: z.literal(1),
  accepted: z.array(z.tuple([z.string(), z.string()])),
  codes: z.array(z.tuple([z.string(), codesSchema])),
})

const memoryPath = (folder: string): string => join(folder, 'approvals.json')
const NO_CODES: Codes = { steps: [], wrong: [] }

/**
 * Which approvals the signer has accepted, and which codes people have used up, in a file of its own. An accepted approval
 * stays so while its payout waits for coins; a code counts once.
 */
export class ApprovalMemory {
  readonly #path: string
  /** Digests in hex, by payout. */
  readonly #accepted: Map<string, string>
  readonly #codes: Map<string, Codes>

  private constructor(path: string, content: Buffer | null) {
    this.#path = path
    const { accepted, codes } = content === null ? { accepted: [], codes: [] } : parse(path, content)
    this.#accepted = new Map(accepted)
    this.#codes = new Map(codes)
  }

  static async open(folder: string): Promise<ApprovalMemory> {
    const path = memoryPath(folder)
    return new ApprovalMemory(path, await readPrivateFile(path))
  }

  isAccepted(payoutId: string, digest: Buffer): boolean {
    return this.#accepted.get(payoutId) === digest.toString('hex')
  }

  /** Resolves once it is on the disk. */
  async accept(payoutId: string, digest: Buffer): Promise<void> {
    if (this.isAccepted(payoutId, digest)) return
    this.#accepted.set(payoutId, digest.toString('hex'))
    await this.#save()
  }

  /** Whether a person gave so many wrong codes within an hour that none is looked at. */
  isLockedOut(personId: string, nowMs: number): boolean {
    const { wrong } = this.#codes.get(personId) ?? NO_CODES
    return wrong.filter((ms) => ms > nowMs - HOUR_MS && ms <= nowMs).length >= WRONG_PER_HOUR_MAX
  }

  async noteWrongCode(personId: string, nowMs: number): Promise<void> {
    const { steps, wrong } = this.#codes.get(personId) ?? NO_CODES
    await this.#keepCodes(personId, { steps, wrong: [...wrong, nowMs].slice(-WRONG_PER_HOUR_MAX) })
  }

  /**
   * Uses up the code of a time step and accepts the approvals that it was given for, both in one write: a crash in between
   * would refuse an honest approval as one whose code was used. False where it was used before. `oldest`: steps before it
   * are refused without being looked up. Resolves once it is on the disk.
   */
  async acceptByCode(
    approved: readonly ApprovedPayout[],
    { personId, step, oldest }: { readonly personId: string; readonly step: number; readonly oldest: number },
  ): Promise<boolean> {
    const { steps, wrong } = this.#codes.get(personId) ?? NO_CODES
    if (step < oldest || steps.includes(step)) return false
    for (const [payoutId, digest] of approved) this.#accepted.set(payoutId, digest)
    await this.#keepCodes(personId, { wrong, steps: [...steps.filter((used) => used >= oldest), step] })
    return true
  }

  async #keepCodes(personId: string, codes: Codes): Promise<void> {
    this.#codes.delete(personId)
    this.#codes.set(personId, codes)
    await this.#save()
  }

  async #save(): Promise<void> {
    forgetOldest(this.#accepted, ACCEPTED_MAX)
    forgetOldest(this.#codes, PEOPLE_MAX)
    const file: z.input<typeof fileSchema> = {
      version: 1,
      accepted: [...this.#accepted],
      codes: [...this.#codes],
    }
    await replacePrivateFile(this.#path, `${JSON.stringify(file)}\n`)
  }
}

function forgetOldest(map: Map<string, unknown>, max: number): void {
  for (const key of map.keys()) {
    if (map.size <= max) return
    map.delete(key)
  }
}

function parse(path: string, content: Buffer): z.infer<typeof fileSchema> {
  try {
    return fileSchema.parse(JSON.parse(content.toString('utf8')))
  } catch (error) {
    throw new SignerRefused(
      `${path} is damaged: restore it from a backup, or delete it: then live payouts that wait for their signature must be requested and approved again`,
      { cause: error },
    )
  }
}
