import { execFile } from 'node:child_process'
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'

const SCRIPT = new URL('../../scripts/install-bitcoin-node.sh', import.meta.url).pathname
/** Programs that read and write no network; the script finds no others but those that a test makes. */
const ORDINARY = [
  'awk',
  'chmod',
  'dirname',
  'find',
  'grep',
  'head',
  'mkdir',
  'mktemp',
  'mv',
  'rm',
  'tail',
  'tr',
]
const NETWORKED = ['apt-get', 'apt-cache', 'apt', 'dpkg-deb', 'curl', 'wget']

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'paylink-bitcoin-node-'))
  for (const name of ['bin', 'apt', 'home']) await mkdir(join(folder, name))
  for (const name of ORDINARY) await symlink(`/usr/bin/${name}`, join(folder, 'bin', name))
  // In place of the machine's own settings of apt it reads this folder's.
  await addProgram(
    'cat',
    `case "$1" in /etc/apt/*) exec /usr/bin/cat ${folder}/apt/* ;; *) exec /usr/bin/cat "$@" ;; esac`,
  )
  // Whoever calls one of these is written down, and gets nothing.
  for (const name of NETWORKED) await addProgram(name, `echo "${name} $*" >> ${folder}/called; exit 1`)
})
afterEach(() => rm(folder, { recursive: true }))

async function addProgram(name: string, line: string): Promise<void> {
  await writeFile(join(folder, 'bin', name), `#!/bin/sh\n${line}\n`)
  await chmod(join(folder, 'bin', name), 0o755)
}

/** Runs the script with no program of the machine's but the ordinary ones. */
const install = () =>
  new Promise<{ code: number | string | null | undefined; stdout: string; stderr: string }>((resolve) => {
    const env = { PATH: join(folder, 'bin'), HOME: join(folder, 'home') }
    execFile('/bin/bash', [SCRIPT], { env }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : error.code, stdout, stderr }),
    )
  })

const called = () => readFile(join(folder, 'called'), 'utf8').catch(() => '')

test('without a node and a mirror the script says so in one line, and fetches nothing', async () => {
  await writeFile(join(folder, 'apt', 'sources.list'), '# deb https://deb.debian.org/debian stable main\n')
  const { code, stdout, stderr } = await install()
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
  expect(stderr).toMatch(
    /^install-bitcoin-node: no Debian mirror stands in [^\n]*install Bitcoin Core[^\n]*\n$/,
  )
  expect(await called()).toBe('')
  expect(await readdir(join(folder, 'home'))).toEqual([])
})

test('the mirror that the machine uses is the only one that is asked', async () => {
  await writeFile(
    join(folder, 'apt', 'debian.sources'),
    'Types: deb\nURIs: https://mirror.example/debian\nSuites: stable\n',
  )
  const { code, stderr } = await install()
  expect(code).toBe(1)
  // Where Debian's keys are missing it stops before it asks.
  const hasKeys = !stderr.includes('debian-archive-keyring.gpg is missing')
  if (hasKeys) expect(stderr).toContain('sid suite could not be read from https://mirror.example/debian')
  expect(await called()).toBe(hasKeys ? 'apt-get update -qq\n' : '')
  expect(await readFile(SCRIPT, 'utf8')).not.toMatch(/https?:\/\/[a-z0-9]/)
})

test('a node on the PATH is taken as it is', async () => {
  await addProgram('bitcoind', 'exit 0')
  expect(await install()).toEqual({ code: 0, stdout: `${join(folder, 'bin', 'bitcoind')}\n`, stderr: '' })
  expect(await called()).toBe('')
})
