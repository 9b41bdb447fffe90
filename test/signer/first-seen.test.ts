import { appendFile, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { FirstSeen } from '../../src/payouts/sign/first-seen.ts'
import { SignerRefused } from '../../src/signer/refused.ts'

let folder: string
const path = () => join(folder, 'first-seen.jsonl')
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'first-seen-'))
})
afterEach(() => rm(folder, { recursive: true }))

const [one, two, three] = [1_000, 2_000, 3_000].map((ms) => new Date(ms)) as [Date, Date, Date]

test('what was seen is known since it was first seen, after a restart too', async () => {
  const seen = await FirstSeen.open(folder)
  expect(seen.since('address', 'a')).toBeNull()
  await seen.note('address', [{ key: 'a', seenAt: one }])
  await seen.note('address', [
    { key: 'a', seenAt: two },
    { key: 'line\nend', seenAt: two },
  ])
  for (const each of [seen, await FirstSeen.open(folder)]) {
    expect(each.since('address', 'a')).toEqual(one)
    expect(each.since('address', 'line\nend')).toEqual(two)
    expect(each.since('factor', 'a')).toBeNull()
  }
  expect((await readFile(path(), 'utf8')).split('\n')).toHaveLength(3)
  expect((await stat(path())).mode & 0o777).toBe(0o600)
})

test('a kind has begun once all that was known before is on the disk', async () => {
  const seen = await FirstSeen.open(folder)
  expect(seen.hasBegun('address')).toBe(false)
  await seen.begin('address', [{ key: 'a', seenAt: one }], two)
  expect(seen.hasBegun('address')).toBe(true)
  const content = await readFile(path(), 'utf8')
  await writeFile(path(), content.slice(0, -1))
  const cutOff = await FirstSeen.open(folder)
  expect(cutOff.hasBegun('address')).toBe(false)
  await cutOff.begin('address', [{ key: 'a', seenAt: three }], three)
  expect((await FirstSeen.open(folder)).hasBegun('address')).toBe(true)
  expect((await FirstSeen.open(folder)).hasBegun('factor')).toBe(false)
  expect((await FirstSeen.open(folder)).since('address', 'a')).toEqual(one)
})

test('a last line that a crash cut off goes; a reader leaves it to its writer', async () => {
  await (await FirstSeen.open(folder)).note('address', [{ key: 'a', seenAt: one }])
  const whole = await readFile(path(), 'utf8')
  await appendFile(path(), '{"kind":"address","ke')
  expect((await FirstSeen.open(folder, 'reads')).since('address', 'a')).toEqual(one)
  expect(await readFile(path(), 'utf8')).not.toBe(whole)
  const seen = await FirstSeen.open(folder)
  expect(await readFile(path(), 'utf8')).toBe(whole)
  await seen.note('address', [{ key: 'b', seenAt: two }])
  expect((await FirstSeen.open(folder)).since('address', 'b')).toEqual(two)
})

test('damage elsewhere is one line that names the file and what to do', async () => {
  const seen = await FirstSeen.open(folder)
  await seen.note('address', [{ key: 'a', seenAt: one }])
  await writeFile(path(), `{"kind":"addr\n${await readFile(path(), 'utf8')}`)
  await expect(FirstSeen.open(folder)).rejects.toThrow(SignerRefused)
  await expect(FirstSeen.open(folder)).rejects.toThrow(
    /^line 1 of .*first-seen\.jsonl is damaged: .*delete it/,
  )
})

test('a process whose file was written to by another adds nothing before it has read it again', async () => {
  const [left, right] = [await FirstSeen.open(folder), await FirstSeen.open(folder)]
  await left.note('address', [{ key: 'a', seenAt: one }])
  await expect(right.note('address', [{ key: 'a', seenAt: two }])).rejects.toThrow(/written to since/)
  expect(right.since('address', 'a')).toBeNull()
  expect((await FirstSeen.open(folder)).since('address', 'a')).toEqual(one)
})

test('a key made to fill the disk is refused', async () => {
  const seen = await FirstSeen.open(folder)
  await expect(seen.note('address', [{ key: 'a'.repeat(1_001), seenAt: one }])).rejects.toThrow(
    /1001 characters/,
  )
})
