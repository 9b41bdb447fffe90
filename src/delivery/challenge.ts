import { createHash, timingSafeEqual } from 'node:crypto'
import type { Clock } from '../runtime/clock.ts'
import type { Message } from './event-format.ts'
import type { HttpClient, PostResponse } from './http-client.ts'
import { OUTCOME_CODES, type OutcomeCode, outcomeOfError } from './outcome-code.ts'
import { headerOf, postSigned, type SignedEvent } from './send.ts'

/** Spec §6.3: the answer stays under 1 KiB. */
const CHALLENGE_ANSWER_BYTES_MAX = 1_023

/** Why a challenge was not met: how the attempt ended, or what was wrong with the answer. */
const CHALLENGE_FAILURES = [
  ...OUTCOME_CODES,
  'answer_too_large',
  'answer_encoded',
  'answer_not_json',
  'answer_wrong_fields',
  'challenge_mismatch',
  'signature_not_checked',
] as const
export type ChallengeFailure = (typeof CHALLENGE_FAILURES)[number]

export type ChallengeResult =
  /** `refusesSilently`: it answers 2xx to what it refuses too. */
  | { readonly kind: 'met'; readonly refusesSilently: boolean }
  | { readonly kind: 'failed'; readonly reason: ChallengeFailure; readonly error: unknown }

/** Sends a verification event and judges the answer. Never throws for what a receiver does. */
export async function sendChallenge(
  deps: { http: HttpClient; clock: Clock },
  event: SignedEvent,
  challenge: string,
): Promise<ChallengeResult> {
  try {
    const answer = await postSigned(deps, event, CHALLENGE_ANSWER_BYTES_MAX)
    const reason = judgeAnswer(answer, challenge)
    return reason === null ? { kind: 'met', refusesSilently: false } : { kind: 'failed', reason, error: null }
  } catch (error) {
    return { kind: 'failed', reason: outcomeOfError(error), error }
  }
}

/** One message of a trial, and whether its receiver has asked our API for what it names. */
type TrialMessage = {
  readonly eventId: string
  readonly message: Message
  wasTaken(): Promise<boolean>
}

/**
 * For receivers that were written for another service and cannot answer a challenge: whoever takes what is signed with
 * the secret, and before and after it refuses the same signed with another, has the secret and checks signatures. Some
 * answer 2xx to what they refuse. They take an event by asking our API for its invoice, with the merchant's key: that
 * they did so for the signed message alone shows the same. What takes its events later than it answers is asked about again
 * at the end: whichever of several it took last, one of the last two is forged.
 */
export async function sendTrial(
  deps: { http: HttpClient; clock: Clock },
  event: SignedEvent,
  next: (kind: 'signed' | 'forged') => TrialMessage,
): Promise<ChallengeResult> {
  const failed = (reason: ChallengeFailure) => ({ kind: 'failed', reason, error: null }) as const
  let [isTaken, refusesSilently] = [false, false]
  const forged: TrialMessage[] = []
  try {
    for (const kind of ['forged', 'signed', 'forged'] as const) {
      const sent = next(kind)
      const { eventId, message, wasTaken } = sent
      const { status } = await postSigned(deps, { ...event, eventId, message }, 0)
      const refusal = statusFailure(status)
      const asked = await wasTaken()
      if (kind === 'forged') forged.push(sent)
      if (kind === 'signed') isTaken = asked
      else if (asked) return failed('signature_not_checked')
      else if (refusal === null) refusesSilently = true
      if (kind === 'signed' && refusal !== null && (isTaken || !refusesSilently)) return failed(refusal)
    }
    for (const { wasTaken } of forged) if (await wasTaken()) return failed('signature_not_checked')
    return refusesSilently && !isTaken ? failed('signature_not_checked') : { kind: 'met', refusesSilently }
  } catch (error) {
    return { kind: 'failed', reason: outcomeOfError(error), error }
  }
}

/** Null where the answer is a 2xx with exactly `{"challenge": "<the same>"}` as identity-encoded JSON. */
function judgeAnswer(answer: PostResponse, challenge: string): ChallengeFailure | null {
  const status = statusFailure(answer.status)
  if (status !== null) return status
  const encoding = headerOf(answer, 'content-encoding')
  if (encoding !== undefined && encoding.trim().toLowerCase() !== 'identity') return 'answer_encoded'
  if (answer.body === null) return 'answer_too_large'
  const fields = parseObject(answer.body)
  if (fields === null) return 'answer_not_json'
  const [name, ...others] = Object.keys(fields.value)
  if (name !== 'challenge' || others.length > 0 || fields.repeated) return 'answer_wrong_fields'
  return equalInConstantTime(fields.value.challenge, challenge) ? null : 'challenge_mismatch'
}

function statusFailure(status: number): OutcomeCode | null {
  if (status >= 200 && status < 300) return null
  return status >= 300 && status < 400 ? 'redirect' : 'http_status'
}

type ParsedObject = { readonly value: { readonly [name: string]: unknown }; readonly repeated: boolean }

function parseObject(body: Buffer): ParsedObject | null {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(body)
    const value: unknown = JSON.parse(text)
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return null
    // Parsing keeps the last of two fields with one name; one field means one.
    const repeated = (text.match(/"challenge"\s*:/g) ?? []).length > 1
    return { value: value as { [name: string]: unknown }, repeated }
  } catch {
    // Bytes that are no UTF-8 and text that is no JSON are the same to us: no answer.
    return null
  }
}

/** Digests are compared, so that neither length nor content shows in the time it takes. */
function equalInConstantTime(given: unknown, expected: string): boolean {
  if (typeof given !== 'string') return false
  const digest = (text: string): Buffer => createHash('sha256').update(text, 'utf8').digest()
  return timingSafeEqual(digest(given), digest(expected))
}
