import { spawn } from 'node:child_process'
import { stripVTControlCharacters } from 'node:util'
import { NO_EXCHANGES, PROGRAM } from '../support/app.ts'
import { programPath } from '../support/programs.ts'
import { until } from '../support/until.ts'

export const KEYS = { enter: '\r', down: '\u001b[B', space: ' ', interrupt: '\u0003' } as const

/** The program with a person before it: what it asks is seen, and answered with keys. */
export type Terminal = {
  /** Waits until this is shown, behind what was waited for before. */
  shows(text: string): Promise<void>
  type(keys: string): void
  /** Waits for a question and answers it with a line. */
  answer(question: string, line: string): Promise<void>
  /** All that was shown, without colours and movements. */
  screen(): string
  /** The same with them. */
  raw(): string
  exited(): Promise<number | null>
  end(): void
}

const SHOWN_MS_MAX = 60_000
const PLACE = 'stty cols 120 rows 50'

/** Runs the program in a terminal of its own (`script` of util-linux). */
export function startInTerminal(args: readonly string[], env: { readonly [name: string]: string }): Terminal {
  const command = `${PLACE}; exec '${process.execPath}' '${PROGRAM}' ${args.join(' ')}`
  const child = spawn(programPath('script'), ['-qefc', command, '/dev/null'], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      TERM: 'xterm-256color',
      SHELL: '/bin/sh',
      ...NO_EXCHANGES,
      ...env,
    },
  })
  let raw = ''
  let read = 0
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    raw += text
  })
  const exited = new Promise<number | null>((resolve) => child.once('close', resolve))
  const screen = () => stripVTControlCharacters(raw)
  const shows = async (text: string) => {
    await until(
      () => {
        if (child.exitCode !== null && !screen().slice(read).includes(text))
          throw new Error(`it ended with ${child.exitCode} and did not show ${text}:\n${screen()}`)
        return screen().slice(read).includes(text)
      },
      { what: `the terminal shows ${text}, behind:\n${screen()}`, timeoutMs: SHOWN_MS_MAX },
    )
    read = screen().indexOf(text, read) + text.length
  }
  const type = (keys: string) => void child.stdin.write(keys)
  return {
    shows,
    type,
    answer: async (question, line) => {
      await shows(question)
      type(`${line}${KEYS.enter}`)
    },
    screen,
    raw: () => raw,
    exited: () => exited,
    end: () => void child.kill(),
  }
}
