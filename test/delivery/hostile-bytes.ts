import type { Random } from '../support/random.ts'

const TOKEN_BYTES = [...'abcXYZ019-_.,;=()<>@"\t \u0000\u0001\u007f\u00e9']
const STATUSES = '100 101 103 199 200 200 200 204 205 304 426 500 503 599 600 999 0 2000'.split(' ')
const LENGTHS = ['0', '5', '5', '-1', '99999999999999999999', 'five', '0x5', '5, 5', '']
const ENCODINGS = ['chunked', 'gzip, chunked', 'chunked, gzip', 'x', '']
const KEEP_ALIVES = ['timeout=0', 'timeout=-1', 'timeout=1', 'timeout=99999999999', 'max=1']
const WAITS = ['-1', '0', '1e9', 'NaN', '99999999999999', 'Fri, 31 Dec 9999 23:59:59 GMT']
const BODIES = ['', 'hello', '5\r\nhello\r\n0\r\n\r\n', 'zz\r\n', '\u0000\u00ff']
/** TLS records that no session made: an alert, data that does not decrypt, and none at all. */
const RECORDS = [
  '\u0015\u0003\u0003\u0000\u0002\u0002\u0028',
  '\u0017\u0003\u0003\u0000\u0005xxxxx',
  'no TLS at all',
]

/** What a receiver, or whoever stands in its place, may write where an HTTP answer is due. In latin1. */
export function hostileAnswer(random: Random): string {
  const version = random.pick(['1.1', '1.1', '1.1', '1.1', '1.0', '2.0', '9.9'])
  const lines = [`HTTP/${version} ${random.pick(STATUSES)} ${token(random)}`]
  for (let count = random.below(5); count > 0; count--) lines.push(header(random))
  const whole = `${lines.join('\r\n')}\r\n\r\n${random.pick(BODIES)}`
  return random.chance(0.2) ? whole.slice(0, random.below(whole.length)) : whole
}

/** What may come on a TLS connection beside its session. In latin1. */
export function hostileRecord(random: Random): string {
  return random.pick(RECORDS)
}

function token(random: Random): string {
  return Array.from({ length: 1 + random.below(12) }, () => random.pick(TOKEN_BYTES)).join('')
}

function header(random: Random): string {
  return random.pick([
    `${token(random)}: ${token(random)}`,
    `x-any: ${token(random)}`,
    `content-length: ${random.pick(LENGTHS)}`,
    `transfer-encoding: ${random.pick(ENCODINGS)}`,
    `connection: ${random.pick(['close', 'keep-alive', 'upgrade', token(random)])}`,
    `keep-alive: ${random.pick(KEEP_ALIVES)}`,
    `upgrade: ${random.pick(['websocket', 'h2c', 'TLS/1.0'])}`,
    `content-encoding: ${random.pick(['gzip', 'br', token(random)])}`,
    `retry-after: ${random.pick(WAITS)}`,
  ])
}
