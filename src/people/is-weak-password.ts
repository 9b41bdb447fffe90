import { ZxcvbnFactory } from '@zxcvbn-ts/core'
import { adjacencyGraphs, dictionary } from '@zxcvbn-ts/language-common'

/** Of 0 to 4: what a hundred million guesses find is below it (zxcvbn, "A Realistic Password Strength Meter"). */
const SCORE_MIN = 3
/** Longer input is cut: the check's time grows faster than the length, and one thread serves everybody. */
const LOOKED_AT_MAX = 24
/** Spellings such as `p4$$w0rd` that are tried for a word. */
const SPELLINGS_MAX = 10

/** Words that somebody who guesses a password of this service tries first. */
const OWN_WORDS = ['paylink', 'crypto', 'bitcoin', 'litecoin', 'ethereum', 'solana', 'wallet', 'payment']

const estimator = new ZxcvbnFactory({
  dictionary: { ...dictionary, own: OWN_WORDS },
  graphs: adjacencyGraphs,
  l33tMaxSubstitutions: SPELLINGS_MAX,
})

/** Whether a password is among the first that are tried. */
export const isWeakPassword = (password: string): boolean =>
  estimator.check(password.slice(0, LOOKED_AT_MAX)).score < SCORE_MIN
