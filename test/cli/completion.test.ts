import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { runCommandLine } from '../../src/cli/command-line.ts'

async function run(...args: string[]): Promise<{ code: number; text: string; problems: string }> {
  const lines: string[] = []
  const problems: string[] = []
  const output = {
    line: (text: string) => lines.push(text),
    problem: (text: string) => problems.push(text),
  }
  const code = await runCommandLine(['node', 'paylink', ...args], output)
  return { code, text: lines.join('\n'), problems: problems.join('\n') }
}

/** What bash offers after these words, the last of which is being typed. */
async function offered(words: readonly string[]): Promise<string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'paylink-completion-'))
  try {
    const script = join(folder, 'try.sh')
    const { text } = await run('completion', 'bash')
    const list = words.map((word) => `'${word}'`).join(' ')
    const tried = `COMP_WORDS=(paylink ${list})\nCOMP_CWORD=${words.length}\n_paylink\nprintf '%s\\n' "\${COMPREPLY[@]}"`
    await writeFile(script, `${text}\n${tried}\n`)
    const { stdout } = await promisify(execFile)('bash', [script])
    return stdout.split('\n').filter((word) => word !== '')
  } finally {
    await rm(folder, { recursive: true })
  }
}

test('bash completes commands, their commands, and their options', async () => {
  expect(await offered(['mer'])).toEqual(['merchant'])
  expect(await offered(['merchant', ''])).toEqual(expect.arrayContaining(['create', 'brand']))
  expect(await offered(['merchant', 'create', '--na'])).toEqual(['--name'])
  // An option's value is no command.
  expect(await offered(['merchant', 'create', '--name', 'Shop', '--em'])).toEqual(['--email'])
})

test('zsh and fish have a script with every command', async () => {
  for (const shell of ['zsh', 'fish']) {
    const { code, text } = await run('completion', shell)
    expect(code).toBe(0)
    for (const command of ['start', 'doctor', 'backup', 'listen']) expect(text).toContain(command)
  }
})

test('another shell is refused with those that are known', async () => {
  expect(await run('completion', 'tcsh')).toMatchObject({
    code: 2,
    problems: expect.stringContaining('bash, zsh, fish'),
  })
})
