import { ApiProblem } from './problem.ts'

/** Requests of one merchant handled at the same time: well below a process's 20 database connections. */
const RUNNING_MAX = 8
/** Those that wait their turn: more than a full budget in both modes lets through at once. */
const WAITING_MAX = 400
/** A queue that does not move in this time is a merchant whose requests are slow: more would only make it longer. */
const WAIT_MS_MAX = 10_000

export type MerchantSlots = {
  /** Runs `work` in its turn. Throws `rate_limited` where the queue is full or does not move. */
  run<Result>(name: string, work: () => Promise<Result>): Promise<Result>
}

type Queue = { running: number; readonly waiting: Set<() => void> }

/**
 * Lets each merchant have some requests handled at a time, and the next ones wait for its own: a burst of one leaves the
 * connections to the others.
 */
export function createMerchantSlots(): MerchantSlots {
  const queues = new Map<string, Queue>()
  return {
    run: async (name, work) => {
      const queue = queues.get(name) ?? { running: 0, waiting: new Set() }
      queues.set(name, queue)
      if (queue.running < RUNNING_MAX) queue.running += 1
      else await turnIn(queue)
      try {
        return await work()
      } finally {
        passOn(queue)
        if (queue.running === 0) queues.delete(name)
      }
    },
  }
}

/** Resolves once another request has passed its slot on. */
function turnIn(queue: Queue): Promise<void> {
  if (queue.waiting.size >= WAITING_MAX) throw tooManyAtOnce()
  return new Promise((resolve, reject) => {
    const giveUp = setTimeout(() => {
      queue.waiting.delete(start)
      reject(tooManyAtOnce())
    }, WAIT_MS_MAX)
    const start = () => {
      clearTimeout(giveUp)
      resolve()
    }
    queue.waiting.add(start)
  })
}

function passOn(queue: Queue): void {
  const [next] = queue.waiting
  if (next === undefined) {
    queue.running -= 1
    return
  }
  queue.waiting.delete(next)
  next()
}

const tooManyAtOnce = (): ApiProblem =>
  new ApiProblem('rate_limited', {
    message: 'Too many requests at the same time. Wait as long as the Retry-After header says.',
    headers: { 'retry-after': '1' },
  })
