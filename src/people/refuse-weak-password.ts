import { ZxcvbnFactory } from '@zxcvbn-ts/core'
import { adjacencyGraphs, dictionary } from '@zxcvbn-ts/language-common'
import { APIError } from 'better-auth/api'

/** Of 0 to 4: what a hundred million guesses find is below it (zxcvbn, "A Realistic Password Strength Meter"). */
const SCORE_MIN = 3

/** Words that somebody who guesses a password of this service tries first. */
const OWN_WORDS = ['paylink', 'crypto', 'bitcoin', 'litecoin', 'ethereum', 'solana', 'wallet', 'payment']

const estimator = new ZxcvbnFactory({
  dictionary: { ...dictionary, own: OWN_WORDS },
  graphs: adjacencyGraphs,
})

/** Throws the 400 for a password that is among the first that are tried. */
export function refuseWeakPassword(password: string): void {
  if (estimator.check(password).score >= SCORE_MIN) return
  throw new APIError('BAD_REQUEST', {
    code: 'PASSWORD_TOO_WEAK',
    message: 'This password is easy to guess. Use a few unrelated words, or let a password manager make one.',
  })
}
