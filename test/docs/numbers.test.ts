import { expect, test } from 'vitest'
import { readRootFile } from '../support/root-file.ts'

/** The number that a source file gives a constant: digits, underscores, and products of them. */
async function constantOf(file: string, name: string): Promise<number> {
  const [, text] = new RegExp(`\\bconst ${name} = ([\\d_* .]+)\\n`).exec(await readRootFile(file)) ?? []
  if (text === undefined) throw new Error(`${file} has no number ${name}`)
  return text
    .replaceAll('_', '')
    .split('*')
    .reduce((product, factor) => product * Number(factor), 1)
}

type Constant = readonly [file: string, name: string, unit: number]

/** What a guide says, with the constants that it says it of: each number is the sum of them so far, in their order. */
const SAID: readonly (readonly [doc: string, said: RegExp, constants: readonly Constant[]])[] = [
  ['operating.md', /answered \((\S+) s at most\)/, [['src/http/server.ts', 'FINISH_MS_MAX', 1_000]]],
  ['operating.md', /or gives them up \((\S+) s/, [['src/mail/mail.ts', 'TIMEOUT_MS', 1_000]]],
  [
    'operating.md',
    /progress end \((\S+) s at most\)/,
    [['src/delivery/worker.ts', 'STOP_IN_FLIGHT_MS', 1_000]],
  ],
  ['operating.md', /recorded \((\S+) s at most\)/, [['src/delivery/worker.ts', 'STOP_RECORD_MS', 1_000]]],
  ['operating.md', /longer than (\S+) s in all/, [['src/cli/stop-list.ts', 'STOP_MS_MAX', 1_000]]],
  [
    'operating-webhooks.md',
    /in progress, (\S+) at most/,
    [['src/delivery/worker.ts', 'CONCURRENCY_DEFAULT', 1]],
  ],
  ['operating-webhooks.md', /dropped after (\S+) days/, [['src/delivery/upkeep.ts', 'ATTEMPT_DAYS', 1]]],
  ['operating-webhooks.md', /deleted after (\S+);/, [['src/delivery/upkeep.ts', 'DELIVERED_EVENT_DAYS', 1]]],
  [
    'operating-webhooks.md',
    /than (\S+) s apart/,
    [['src/delivery/clock-skew.ts', 'CLOCK_SKEW_MS_MAX', 1_000]],
  ],
  [
    'operating-webhooks.md',
    /look every (\d+) to (\d+) ms/,
    [
      ['src/delivery/claim-loop.ts', 'POLL_MS_MIN', 1],
      ['src/delivery/claim-loop.ts', 'POLL_MS_SPREAD', 1],
    ],
  ],
]

test.each(SAID)('%s says the number of the code: %s', async (doc, said, constants) => {
  const text = await readRootFile(`docs/${doc}`)
  const found = said.exec(text.replace(/\s+/g, ' '))?.slice(1).map(Number)
  let sum = 0
  const numbers: number[] = []
  for (const [file, name, unit] of constants) {
    sum += (await constantOf(file, name)) / unit
    numbers.push(sum)
  }
  expect(found).toEqual(numbers)
})

test('the alarms that the guide to webhooks names have the limits of the alerts', async () => {
  const guide = await readRootFile('docs/operating-webhooks.md')
  const alerts = await readRootFile('deploy/prometheus/alerts.yaml')
  const limits = [...alerts.matchAll(/max by \(cell\) \((paylink_delivery_\w+_seconds)\) > (\d+)/g)]
  expect(limits).toHaveLength(2)
  for (const [, metric = '', limit = ''] of limits) {
    const row = guide.split('\n').find((line) => line.startsWith(`| \`${metric}\` |`)) ?? ''
    expect(row.replaceAll(',', '')).toContain(`above ${limit}`)
  }
})

test('the counts of the long runs are those of their tests', async () => {
  const rows = (await readRootFile('docs/long-runs.md'))
    .split('\n')
    .map(
      (line) => /^\| [^|]*\|[^|]+\| ([\d,]+) \| ([\d,]+) \| `(test\/[^`]+)` \|$/.exec(line)?.slice(1) ?? [],
    )
    .filter((row) => row.length > 0)
  expect(rows.length).toBeGreaterThan(12)
  for (const [short = '', long = '', file = ''] of rows) {
    expect(countsIn(await readRootFile(file)), file).toContain(`${short} ${long}`.replaceAll(',', ''))
  }
})

/** Each "so many, and with LONG=1 so many" of a test's source. */
function countsIn(source: string): string[] {
  const text = source.replaceAll('_', '')
  const longFirst = text.matchAll(/\? (?:Number\(process\.env\.\w+ \?\? )?(\d+)\)? : (\d+)/g)
  const shortFirst = text.matchAll(/(?:=== undefined \? |short: )(\d+)(?: :|, long:) (\d+)/g)
  return [
    ...[...longFirst].map(([, long, short]) => `${short} ${long}`),
    ...[...shortFirst].map(([, short, long]) => `${short} ${long}`),
  ]
}
