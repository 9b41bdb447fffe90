import { createSlots, type Slots } from '../../runtime/slots.ts'
import { ApiProblem } from './problem.ts'

/** Requests of one merchant in one mode handled at the same time: well below a process's 20 database connections. */
const RUNNING_MAX = 8
/** Those that wait their turn: more than a full budget lets through at once. */
const WAITING_MAX = 400
const WAIT_MS_MAX = 10_000

/** Of both modes together: a flood in one leaves the other a turn, and the merchant no more connections by it. */
const RUNNING_IN_BOTH_MAX = RUNNING_MAX + 1

/**
 * Those that may be written together with others of their merchant and mode: they wait for a connection that they share,
 * and take one of their own only in the turns above.
 */
const TOGETHER_MAX = 16

/** Those that wait for a receiver of webhooks, which may take its ten seconds, three times over in an older format. */
const AWAITING_RECEIVER_MAX = 2
/** As many as a merchant has endpoints in a mode. */
const WAITING_FOR_THOSE_MAX = 20

/**
 * Lets each merchant have some requests handled at a time, and the next ones wait for its own: a burst of one leaves the
 * connections to the others. Throws `rate_limited` where a queue is full or does not move.
 */
export const createMerchantSlots = (): Slots =>
  createSlots({
    runningMax: RUNNING_MAX,
    waitingMax: WAITING_MAX,
    waitMsMax: WAIT_MS_MAX,
    refusal: () => refusal('1'),
  })

/** The turns of a merchant's two modes together, within their own. */
export const createMerchantTotals = (): Slots =>
  createSlots({
    runningMax: RUNNING_IN_BOTH_MAX,
    waitingMax: WAITING_MAX,
    waitMsMax: WAIT_MS_MAX,
    refusal: () => refusal('1'),
  })

/** The turns of requests that may share a connection, before those of one of their own. */
export const createSharedSlots = (): Slots =>
  createSlots({
    runningMax: TOGETHER_MAX,
    waitingMax: WAITING_MAX,
    waitMsMax: WAIT_MS_MAX,
    refusal: () => refusal('1'),
  })

/** The same for requests that wait for a receiver: however slow it is, the others have their turns. */
export const createReceiverSlots = (): Slots =>
  createSlots({
    runningMax: AWAITING_RECEIVER_MAX,
    waitingMax: WAITING_FOR_THOSE_MAX,
    waitMsMax: WAIT_MS_MAX,
    refusal: () => refusal('10'),
  })

const refusal = (retryAfterSeconds: string): ApiProblem =>
  new ApiProblem('rate_limited', {
    message: 'Too many requests at the same time. Wait as long as the Retry-After header says.',
    headers: { 'retry-after': retryAfterSeconds },
  })
