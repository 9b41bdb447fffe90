import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { ApprovalMemory } from '../../src/payouts/sign/approval-memory.ts'

const KEPT_MAX = 5_000
const DIGEST = Buffer.alloc(32)
const STEP = 1_000

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'approval-memory-'))
})
afterEach(() => rm(folder, { recursive: true }))

test('beyond 5,000 the oldest approval and the person longest without a code are forgotten, for good', async () => {
  const names = Array.from({ length: KEPT_MAX }, (_, index) => String(index))
  const file = {
    version: 1,
    accepted: names.map((name) => [name, DIGEST.toString('hex')]),
    codes: names.map((name) => [name, { steps: [STEP], wrong: [] }]),
  }
  await writeFile(join(folder, 'approvals.json'), JSON.stringify(file), { mode: 0o600 })
  const memory = await ApprovalMemory.open(folder)
  await memory.accept('new', DIGEST)
  expect(
    await memory.acceptByCode([['new', DIGEST.toString('hex')]], {
      personId: 'new',
      step: STEP,
      oldest: STEP,
    }),
  ).toBe(true)
  for (const each of [memory, await ApprovalMemory.open(folder)]) {
    expect(['0', '1', 'new'].map((id) => each.isAccepted(id, DIGEST))).toEqual([false, true, true])
    expect(
      await each.acceptByCode([['new', DIGEST.toString('hex')]], { personId: '1', step: STEP, oldest: STEP }),
    ).toBe(false)
  }
  // A code of somebody forgotten is used up again only once: what is older than codes may be is refused anyhow.
  expect(
    await memory.acceptByCode([['new', DIGEST.toString('hex')]], {
      personId: '0',
      step: STEP - 1,
      oldest: STEP,
    }),
  ).toBe(false)
})

test('five wrong codes within an hour lock a person, and nobody else, until an hour is over', async () => {
  const memory = await ApprovalMemory.open(folder)
  for (let minute = 0; minute < 5; minute++) {
    expect(memory.isLockedOut('ann', minute * 60_000)).toBe(false)
    await memory.noteWrongCode('ann', minute * 60_000)
  }
  const reopened = await ApprovalMemory.open(folder)
  expect(reopened.isLockedOut('ann', 300_000)).toBe(true)
  expect(reopened.isLockedOut('bob', 300_000)).toBe(false)
  expect(reopened.isLockedOut('ann', 3_600_000)).toBe(false)
})
