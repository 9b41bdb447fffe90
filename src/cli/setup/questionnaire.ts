import { type CANCEL_SYMBOL, isCancel, log, multiselect, password, select, text } from '@clack/prompts'
import { environmentSetting } from '../../config/config.ts'
import type { Environment } from '../../config/config-values.ts'
import { StartRefused } from '../../runtime/start-refused.ts'
import { UsageError } from '../usage-error.ts'

/** Nobody mistypes one answer more often; Ctrl-C ends sooner. */
const ATTEMPTS_MAX = 50

export type Question = {
  /** Its option on the command line, without the dashes. */
  readonly option: string
  readonly message: string
  /** The setting that the answer becomes. */
  readonly variable?: string
  /** What it is without an answer; absent: there has to be one. */
  readonly fallback?: string
  readonly choices?: readonly { readonly value: string; readonly label: string; readonly hint?: string }[]
  /** Any number of the choices, separated by commas. */
  readonly isList?: boolean
  /** Typed unseen: it holds a password, or may. */
  readonly isUnseen?: boolean
  /** Only an option or a variable answers it; a person is not asked. */
  readonly isQuiet?: boolean
  /** What is wrong with an answer; null where nothing is. */
  readonly problem?: (answer: string) => Promise<string | null> | string | null
}

/** Options of the command line, by the names that commander gives them. */
export type GivenOptions = { readonly [name: string]: string | boolean | undefined }

/** Answers come from the option, then from the environment, then from a person, or else from the default. */
export class Questionnaire {
  readonly isInteractive: boolean
  readonly #given: GivenOptions
  /** The settings of the env file that is replaced, and those of private chains. */
  readonly before: Environment

  constructor(options: { isInteractive: boolean; given: GivenOptions; before: Environment }) {
    this.isInteractive = options.isInteractive
    this.#given = options.given
    this.before = options.before
  }

  /** What was answered beforehand; undefined where a person, or the default, has to. */
  given({ option, variable }: Question): string | undefined {
    const name = option.replace(/-([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
    const ofOption = this.#given[name]
    const ofEnvironment = variable === undefined ? undefined : environmentSetting(variable)
    if (typeof ofOption !== 'string') return ofEnvironment
    if (ofEnvironment !== undefined && ofEnvironment !== ofOption) {
      throw new UsageError(
        `--${option} differs from ${variable} of the environment, which comes before the file: remove one`,
      )
    }
    return ofOption
  }

  /** The same, or what the file before says. */
  known(question: Question): string | undefined {
    const { variable } = question
    const given = this.given(question)
    return given ?? ((variable === undefined ? undefined : this.before[variable]) || undefined)
  }

  async ask(question: Question): Promise<string> {
    const { option, message } = question
    const given = this.given(question)
    if (given !== undefined) return await this.#accept(question, given)
    const fallback = this.known(question) ?? question.fallback
    if (this.isInteractive && question.isQuiet !== true) return await this.#askPerson(question, fallback)
    if (fallback === undefined) throw new UsageError(`--${option} is missing: ${message}`)
    return await this.#accept(question, fallback)
  }

  async #accept(question: Question, answer: string): Promise<string> {
    const problem = await problemOf(question, answer)
    if (problem !== null) throw new UsageError(`--${question.option}: ${problem}`)
    return answer
  }

  async #askPerson(question: Question, fallback: string | undefined): Promise<string> {
    for (let attempts = 0; attempts < ATTEMPTS_MAX; attempts++) {
      const answer = await prompt(question, fallback)
      const problem = await problemOf(question, answer)
      if (problem === null) return answer
      log.error(problem)
    }
    throw new StartRefused('setup ends here: nothing was written')
  }
}

async function problemOf(question: Question, answer: string): Promise<string | null> {
  const { choices, isList = false, fallback } = question
  if (answer === '' && fallback === '') return null
  if (answer === '') return 'this needs an answer'
  const names = isList ? answer.split(',') : [answer]
  if (choices !== undefined && !names.every((name) => choices.some(({ value }) => value === name))) {
    const known = choices.map(({ value }) => value).join(', ')
    return isList ? `use some of ${known}, separated by commas` : `use one of ${known}`
  }
  return (await question.problem?.(answer)) ?? null
}

async function prompt(question: Question, fallback: string | undefined): Promise<string> {
  const { message, choices, isList, isUnseen } = question
  if (choices !== undefined && isList === true) {
    const initialValues = fallback?.split(',') ?? []
    const picked = await promptAnswer(
      multiselect({ message, options: [...choices], initialValues, required: true }),
    )
    return picked.join(',')
  }
  if (choices !== undefined) {
    const initial = fallback === undefined ? {} : { initialValue: fallback }
    return await promptAnswer(select({ message, options: [...choices], ...initial }))
  }
  if (isUnseen === true) {
    const kept = fallback === undefined || fallback === '' ? '' : ' (Enter keeps the present one)'
    return ((await promptAnswer(password({ message: message + kept }))) ?? '').trim() || (fallback ?? '')
  }
  const initial = fallback === undefined ? {} : { initialValue: fallback }
  return (await promptAnswer(text({ message, defaultValue: '', ...initial }))).trim()
}

/** What a person answered. Throws `StartRefused` on Ctrl-C: nothing was written yet. */
export async function promptAnswer<Value>(prompted: Promise<Value | typeof CANCEL_SYMBOL>): Promise<Value> {
  const answer = await prompted
  if (isCancel(answer)) throw new StartRefused('cancelled: nothing was written')
  return answer
}
