import pino from 'pino'
import type { LogLevel } from '../config/config.ts'

/** The structured log: one JSON object a line. A line break inside a value is escaped, so that no input can forge a line. */
export type Log = pino.Logger

/**
 * Names under which a secret could reach the log by mistake, at the top of an object and one level down.
 * Redaction is the second line: nothing logs a secret on purpose.
 */
const SECRET_NAMES = [
  'authorization',
  'cookie',
  'key',
  'secret',
  'password',
  'token',
  'seed',
  'mnemonic',
  'secretKey',
  'connectionString',
  'databaseUrl',
  'rpcUrl',
] as const

/** `user:password@` in a URL that stands in a message, such as an error of a database driver or a node. */
const URL_CREDENTIALS = /([a-z][a-z0-9+.-]{1,30}:\/\/)[^\s/@]{1,500}@/gi
/** API keys, webhook signing secrets, extended private keys. */
const SECRET_SHAPES = /\b(sk_(?:test|live)_|whsec_|[xyzt]prv)[0-9A-Za-z_-]{8,200}/g
const MESSAGE_LENGTH_MAX = 4_000

/**
 * A logger that writes to standard output, or to standard error where standard output is for the person who
 * started the program.
 */
export function createLogger(level: LogLevel, stream: 'stdout' | 'stderr' = 'stdout'): Log {
  const destination = pino.destination({ fd: stream === 'stdout' ? 1 : 2, sync: true })
  return pino(
    {
      level,
      base: { pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: SECRET_NAMES.flatMap((name) => [name, `*.${name}`]), censor: '[redacted]' },
      serializers: { err: serializeError, error: serializeError },
      hooks: {
        logMethod(args, method) {
          const cleaned = args.map((argument) =>
            typeof argument === 'string' ? withoutSecrets(argument) : argument,
          )
          method.apply(this, cleaned as Parameters<typeof method>)
        },
      },
    },
    destination,
  )
}

/** The text with credentials in URLs and everything that looks like a key of ours blacked out. */
export function withoutSecrets(text: string): string {
  return text
    .slice(0, MESSAGE_LENGTH_MAX)
    .replace(URL_CREDENTIALS, '$1[redacted]@')
    .replace(SECRET_SHAPES, '$1[redacted]')
}

const CAUSES_MAX = 5

/** An error with its chain of causes. Its own fields are left out: drivers hang queries and their parameters there. */
function serializeError(error: unknown): object {
  const causes: string[] = []
  let cause = error instanceof Error ? error.cause : undefined
  while (cause !== undefined && causes.length < CAUSES_MAX) {
    causes.push(withoutSecrets(describeError(cause)))
    cause = cause instanceof Error ? cause.cause : undefined
  }
  return {
    message: withoutSecrets(describeError(error)),
    ...(error instanceof Error && error.stack !== undefined ? { stack: withoutSecrets(error.stack) } : {}),
    ...(causes.length > 0 ? { causes } : {}),
  }
}

/** One line for a person: the message, and the code of a system or database error. */
export function describeError(error: unknown): string {
  if (error instanceof AggregateError && error.message === '')
    return error.errors.map(describeError).join('; ')
  if (!(error instanceof Error)) return String(error)
  const code = 'code' in error && typeof error.code === 'string' ? ` (${error.code})` : ''
  const message = error.message === '' ? error.name : error.message
  return message.includes(code.slice(2, -1)) ? message : `${message}${code}`
}
