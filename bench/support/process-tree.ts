import { readdirSync, readFileSync } from 'node:fs'

/** One Linux process, as /proc shows it at a moment. */
export type ProcessFigures = {
  readonly pid: number
  readonly command: string
  /** Its own memory: what it wrote, and no file's. */
  readonly ownBytes: number
  /** What it has in memory of files, by path: programs and libraries, which processes share. */
  readonly filesBytes: ReadonlyMap<string, number>
  /** User and system time since its start. */
  readonly processorMs: number
}

/** Linux counts processor time in hundredths of a second. */
const TICK_MS = 10

/** A process and all that it started, without PostgreSQL. */
export function readProcessTree(root: number): ProcessFigures[] {
  const all = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => statOf(Number(name)) ?? [])
  const found = all.filter(({ pid }) => pid === root)
  // The list grows while it is walked: children follow their parents.
  for (const { pid: parent } of found)
    found.push(...all.filter((each) => each.parent === parent && each.name !== 'postgres'))
  return found.map(({ pid, name, ticks }) => ({
    pid,
    command: readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim() || name,
    ...memoryOf(pid),
    processorMs: ticks * TICK_MS,
  }))
}

/** Fields of proc_pid_stat(5), counted after the command's closing parenthesis. */
function statOf(pid: number) {
  let stat: string
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  } catch {
    // Processes end while they are listed.
    return null
  }
  const end = stat.lastIndexOf(')')
  const fields = stat.slice(end + 2).split(' ')
  const ticks = Number(fields[11]) + Number(fields[12])
  return { pid, name: stat.slice(stat.indexOf('(') + 1, end), parent: Number(fields[1]), ticks }
}

/** Fields of proc_pid_smaps(5): each mapping with the file behind it, what it has in memory, and how much of that is anonymous. */
function memoryOf(pid: number): Pick<ProcessFigures, 'ownBytes' | 'filesBytes'> {
  let ownBytes = 0
  const filesBytes = new Map<string, number>()
  let file = ''
  let residentBytes = 0
  for (const line of readFileSync(`/proc/${pid}/smaps`, 'utf8').split('\n')) {
    const mapping = /^[0-9a-f]+-[0-9a-f]+ \S+ \S+ \S+ \d+ *(.*)$/.exec(line)
    if (mapping !== null) file = mapping[1] ?? ''
    const [, field, kilobytes] = /^(Rss|Anonymous): +(\d+) kB$/.exec(line) ?? []
    if (field === 'Rss') residentBytes = Number(kilobytes) * 1_024
    if (field !== 'Anonymous') continue
    const anonymousBytes = Number(kilobytes) * 1_024
    ownBytes += anonymousBytes
    filesBytes.set(file, (filesBytes.get(file) ?? 0) + residentBytes - anonymousBytes)
  }
  return { ownBytes, filesBytes }
}

/** Memory that some processes have together: a file that several have counts once, whatever else on the machine has it. */
export function memoryOfAll(processes: readonly ProcessFigures[]): number {
  const files = new Map<string, number>()
  for (const { filesBytes } of processes)
    for (const [file, bytes] of filesBytes) files.set(file, Math.max(files.get(file) ?? 0, bytes))
  const own = processes.reduce((total, { ownBytes }) => total + ownBytes, 0)
  return [...files.values()].reduce((total, bytes) => total + bytes, own)
}
