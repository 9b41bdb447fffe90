import { randomBytes } from 'node:crypto'
import { link, readFile, rename, unlink, writeFile } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { hasCode, readFileIfPresent } from './data-dir.ts'
import { StartRefused } from './start-refused.ts'

const WAIT_MS_MAX = 90_000
const POLL_MS = 50

/**
 * Runs `work` while no other process of this machine runs its own under the same lock file. A holder that
 * died, kill -9 included, leaves a file that names a process which is no more: the next one takes it over.
 * Throws `StartRefused` when a living holder keeps it for too long.
 */
export async function withFileLock<Result>(path: string, work: () => Promise<Result>): Promise<Result> {
  const content = `${process.pid} ${randomBytes(8).toString('hex')}\n`
  const mine = `${path}.${content.slice(-9, -1)}`
  heldHere.add(content)
  try {
    await writeFile(mine, content, { mode: 0o600 })
    try {
      await acquire(path, mine)
    } finally {
      await unlink(mine)
    }
    try {
      return await work()
    } finally {
      // Taken over by somebody who thought us dead: then it is not ours to remove.
      if ((await readFileIfPresent(path)) === content) await unlink(path)
    }
  } finally {
    heldHere.delete(content)
  }
}

async function acquire(path: string, mine: string): Promise<void> {
  const giveUpAt = Date.now() + WAIT_MS_MAX
  for (;;) {
    try {
      // Linking is atomic: exactly one of several processes makes the name.
      await link(mine, path)
      return
    } catch (error) {
      if (!hasCode(error, 'EEXIST')) throw error
    }
    const holder = await readFileIfPresent(path)
    if (holder !== null && isStale(holder)) await removeStale(path, holder, mine)
    else if (Date.now() > giveUpAt) {
      throw new StartRefused(
        `${path} is held by process ${holder?.split(' ')[0] ?? 'unknown'}: wait for it or end it, and if there is no such process of Paylink remove the file`,
      )
    } else await pause(POLL_MS)
  }
}

function isStale(holder: string): boolean {
  const pid = Number(holder.split(' ')[0])
  // In a container the next start often gets the number of the last one.
  return (
    !Number.isSafeInteger(pid) || pid <= 0 || (pid === process.pid && !heldHere.has(holder)) || !isAlive(pid)
  )
}

/** The locks that this very process holds or waits for, by the content of their file. */
const heldHere = new Set<string>()

async function removeStale(path: string, holder: string, mine: string): Promise<void> {
  const aside = `${mine}.stale`
  try {
    await rename(path, aside)
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return
    throw error
  }
  const moved = await readFile(aside, 'utf8')
  // Between our look and our move another process may have taken the lock: give it back.
  if (moved !== holder) await link(aside, path)
  await unlink(aside)
}

/** Whether a process of this number exists, ours to signal or not. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return hasCode(error, 'EPERM')
  }
}
