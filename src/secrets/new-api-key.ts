import { createHash } from 'node:crypto'
import { ownTag } from '../runtime/own-cell.ts'
import { randomBase62 } from './random-base62.ts'

/** 43 characters of base 62 carry 256 bits. */
const SECRET_LENGTH = 43

/** What an API key looks like; anything else is not worth asking the database for. */
export const API_KEY_PATTERN = /^sk_(?:test|live)_(?:([0-9a-z]{2})_)?[0-9A-Za-z]{43}$/

/** A new key, `sk_test_…` or `sk_live_…`: 256 random bits in base 62, after the tag of the cell, `sk_test_03_…`. */
export function newApiKey(livemode: boolean): string {
  return `${livemode ? 'sk_live' : 'sk_test'}_${ownTag('_')}${randomBase62(SECRET_LENGTH)}`
}

export const OPERATOR_KEY_PATTERN = /^op_[0-9A-Za-z]{43}$/

/** A new key of an operator's, `op_…`, of as many random bits. It opens no API. */
export const newOperatorKey = (): string => `op_${randomBase62(SECRET_LENGTH)}`

/** What is stored of a key. Its 256 random bits make a slow hash needless. */
export const hashApiKey = (key: string): Buffer => createHash('sha256').update(key).digest()
