const BAR_WIDTH = 30
/** Without a terminal a line is written for each tenth of the way. */
const PLAIN_STEPS = 10

export type ProgressStream = { readonly isTTY?: boolean; write(text: string): unknown }

type Progress = {
  /** How far it has come, and a word about it. */
  update(done: number, note: string): void
  /** Leaves the line. */
  end(): void
}

/** A bar on a terminal, and plain lines anywhere else: a log keeps those, and not the bar. */
export function createProgress(stream: ProgressStream, total: number): Progress {
  return stream.isTTY === true ? bar(stream, total) : lines(stream, total)
}

function bar(stream: ProgressStream, total: number): Progress {
  let drawn = false
  return {
    update: (done, note) => {
      const filled = Math.round((BAR_WIDTH * done) / total)
      const text = `${'█'.repeat(filled)}${'░'.repeat(BAR_WIDTH - filled)} ${percentOf(done, total)} % ${note}`
      // To the line's start, the bar, and away with what is left of a longer one.
      stream.write(`\r${text}\u001b[K`)
      drawn = true
    },
    end: () => {
      if (drawn) stream.write('\n')
    },
  }
}

function lines(stream: ProgressStream, total: number): Progress {
  let reported = 0
  return {
    update: (done, note) => {
      const step = Math.floor((PLAIN_STEPS * done) / total)
      if (step === reported) return
      reported = step
      stream.write(`${percentOf(done, total)} % ${note}\n`)
    },
    end: () => {},
  }
}

const percentOf = (done: number, total: number): number => Math.floor((100 * done) / total)
