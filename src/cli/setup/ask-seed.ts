import { randomInt } from 'node:crypto'
import { text } from 'node:stream/consumers'
import { confirm, log, password } from '@clack/prompts'
import { StartRefused } from '../../runtime/start-refused.ts'
import { drawSeed, hasSeed, type SignerPlace, seedFromWords } from '../signer-place.ts'
import { UsageError } from '../usage-error.ts'
import { promptAnswer, type Questionnaire } from './questionnaire.ts'

const WORDS_ASKED = 3
/** Whoever cannot give the words by then has not written them down. */
const ROUNDS_MAX = 5
/** A terminal's second screen: what was on it is in no scrollback once it is left. */
const [SECOND_SCREEN, FIRST_SCREEN] = ['\u001b[?1049h\u001b[H', '\u001b[?1049l']

/** The seed to store; `later`: the first start makes it; `kept`: it is there. */
export type SeedAnswer =
  | { readonly kind: 'store'; readonly entropy: Uint8Array }
  | { readonly kind: 'later' | 'kept' }

/** Where all keys come from. Nothing is stored yet. */
export async function askSeed(
  questions: Questionnaire,
  place: SignerPlace,
  livemode: boolean,
): Promise<SeedAnswer> {
  if (await hasSeed(place)) return { kind: 'kept' }
  const choice = await questions.ask({
    option: 'seed',
    message: 'Where does the seed come from, of which all keys are made?',
    choices: [
      { value: 'new', label: 'A new one', hint: 'you write 24 words on paper, and three are asked back' },
      { value: 'restore', label: 'The 24 words of an earlier one' },
      { value: 'later', label: 'The first start makes it', hint: 'no words on paper: for test money' },
    ],
    ...(livemode ? {} : { fallback: 'later' }),
  })
  if (choice === 'later') return { kind: 'later' }
  if (choice === 'restore') return { kind: 'store', entropy: await readWords(questions) }
  return { kind: 'store', entropy: questions.isInteractive ? await drawOnPaper() : drawSeed().entropy }
}

async function readWords({ isInteractive }: Questionnaire): Promise<Uint8Array> {
  const words = isInteractive
    ? await promptAnswer(password({ message: 'The 24 words, separated by spaces' }))
    : await text(process.stdin)
  const entropy = seedFromWords(words)
  if (entropy !== null) return entropy
  throw new UsageError('--seed restore needs the 24 words: check each of them and their order')
}

/** Shows new words until some of them, asked for at random, are given back. */
async function drawOnPaper(): Promise<Uint8Array> {
  const { entropy, words } = drawSeed()
  for (let round = 0; round < ROUNDS_MAX; round++) {
    await showWords(words)
    if (await areGivenBack(words)) return entropy
    log.error('That is another word. Look at your paper again.')
  }
  throw new StartRefused('the words were not given back: nothing was written')
}

async function showWords(words: readonly string[]): Promise<void> {
  process.stdout.write(
    `${SECOND_SCREEN}These 24 words are the money. Write them on paper, in this order.\n\n`,
  )
  for (let row = 0; row < words.length; row += 4) {
    const cells = words
      .slice(row, row + 4)
      .map((word, column) => `${String(row + column + 1).padStart(2)} ${word}`)
    process.stdout.write(`  ${cells.map((cell) => cell.padEnd(14)).join('')}\n`)
  }
  process.stdout.write('\n')
  try {
    await promptAnswer(confirm({ message: 'Written down?', active: 'Yes', inactive: 'Not yet' }))
  } finally {
    process.stdout.write(FIRST_SCREEN)
  }
}

async function areGivenBack(words: readonly string[]): Promise<boolean> {
  for (const index of someIndexes(words.length)) {
    const word = (await promptAnswer(password({ message: `Word ${index + 1} of your paper` }))) ?? ''
    if (word.trim().toLowerCase() !== words[index]) return false
  }
  return true
}

function someIndexes(count: number): number[] {
  const all = Array.from({ length: count }, (_, index) => index)
  return Array.from({ length: WORDS_ASKED }, () => all.splice(randomInt(all.length), 1)[0] ?? 0)
}
