import { Busy } from '../core/busy.ts'

export type Slots = {
  /** Runs `work` in its turn among those of its name. Throws where the queue is full or does not move. */
  run<Result>(name: string, work: () => Promise<Result>): Promise<Result>
}

/** Runs work in its turn. */
export type InTurn = <Result>(work: () => Promise<Result>) => Promise<Result>

type Queue = { running: number; readonly waiting: Set<() => void> }

/** Lets so many of each name run at a time; the next ones wait for those of their own name, in order. */
export function createSlots(limits: {
  readonly runningMax: number
  readonly waitingMax: number
  /** A queue that does not move in this time is one whose work is slow: more would only make it longer. */
  readonly waitMsMax: number
  /** What refused work throws; a `Busy` unless it is given. */
  readonly refusal?: () => Error
}): Slots {
  const { runningMax, waitingMax, waitMsMax, refusal = () => new Busy('too much waits already') } = limits
  const queues = new Map<string, Queue>()
  /** Resolves once another one has passed its slot on. */
  const turnIn = (queue: Queue): Promise<void> => {
    if (queue.waiting.size >= waitingMax) throw refusal()
    return new Promise((resolve, reject) => {
      const giveUp = setTimeout(() => {
        queue.waiting.delete(start)
        reject(refusal())
      }, waitMsMax)
      const start = () => {
        clearTimeout(giveUp)
        resolve()
      }
      queue.waiting.add(start)
    })
  }
  return {
    run: async (name, work) => {
      const queue = queues.get(name) ?? { running: 0, waiting: new Set() }
      queues.set(name, queue)
      if (queue.running < runningMax) queue.running += 1
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

function passOn(queue: Queue): void {
  const [next] = queue.waiting
  if (next === undefined) {
    queue.running -= 1
    return
  }
  queue.waiting.delete(next)
  next()
}
