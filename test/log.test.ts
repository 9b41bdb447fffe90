import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { describeError, withoutSecrets } from '../src/runtime/log.ts'

const LOG_MODULE = new URL('../dist/runtime/log.js', import.meta.url).pathname

/** What the built log writes for some calls, in a process of its own. */
function logged(calls: string): string[] {
  const program = `import { createLogger } from ${JSON.stringify(LOG_MODULE)}; const log = createLogger('info'); ${calls}`
  const output = execFileSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' })
  return output.split('\n').filter((line) => line !== '')
}

test('no input can forge a log line or colour a terminal: CRLF and escape codes stay inside one JSON line', () => {
  const lines = logged(`log.info({ name: 'a\\r\\n{"level":"fatal"}\\u001b[31m' }, 'b\\r\\nc\\u001b[2J')`)
  expect(lines).toHaveLength(1)
  expect(lines[0]).not.toContain('\u001b')
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({
    level: 'info',
    name: 'a\r\n{"level":"fatal"}\u001b[31m',
  })
})

test('fields that are named like secrets are blacked out, at the top and one level down', () => {
  const [line] = logged(
    `log.info({ secret: 'x1', password: 'x2', request: { authorization: 'x3', cookie: 'x4' }, rpcUrl: 'x5', fine: 'y' }, 'm')`,
  )
  expect(line).not.toMatch(/x\d/)
  expect(JSON.parse(line ?? '')).toMatchObject({ fine: 'y', secret: '[redacted]' })
})

test('secrets in messages and in errors with their causes are blacked out by their shape', () => {
  const [line] = logged(
    `const cause = new Error('connect postgresql://owner:hidden1@db/x');
     log.error({ err: new Error('node http://user:hidden2@host failed', { cause }) }, 'key sk_test_hidden3hidden3 whsec_hidden4hidden4 http://a:hidden5@b')`,
  )
  expect(line).not.toContain('hidden')
  const { err } = JSON.parse(line ?? '')
  expect(err.message).toBe('node http://[redacted]@host failed')
  expect(err.causes).toEqual(['connect postgresql://[redacted]@db/x'])
})

test('an error is logged in one line with its code', () => {
  const refused = Object.assign(new Error('connect failed'), { code: 'ECONNREFUSED' })
  expect(describeError(refused)).toBe('connect failed (ECONNREFUSED)')
  expect(describeError(new AggregateError([refused, new Error('other')], ''))).toBe(
    'connect failed (ECONNREFUSED); other',
  )
  expect(describeError('text')).toBe('text')
})

test('blacking out takes linear time on hostile input', () => {
  const hostile = `${'a://'.repeat(200_000)}${'sk_test_'.repeat(200_000)}`
  const startedAt = performance.now()
  // Anything that looks at each pair of characters takes minutes.
  withoutSecrets(hostile)
  expect(performance.now() - startedAt).toBeLessThan(5_000)
})
