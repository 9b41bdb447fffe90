import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { runCommandLine } from '../../src/cli/command-line.ts'
import { programPath } from '../support/programs.ts'

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

/** How each shell is asked what it offers after these words, the last of which is being typed: one a line. */
const SHELLS = {
  bash: {
    path: () => 'bash',
    ask: (words: readonly string[]) =>
      `COMP_WORDS=(paylink ${quote(words)})\nCOMP_CWORD=${words.length}\n_paylink\nprintf '%s\\n' "\${COMPREPLY[@]}"`,
  },
  // Outside a terminal nothing completes: what would show the list prints it, unfiltered.
  zsh: {
    path: () => programPath('zsh'),
    ask: (words: readonly string[]) =>
      `_describe() { print -l -- "\${(@P)2}" }\n_files() { print files }\nwords=(paylink ${quote(words)})\nCURRENT=${words.length + 1}\n_paylink`,
  },
  fish: {
    path: () => programPath('fish'),
    ask: (words: readonly string[]) => `complete -C ${quote([`paylink ${words.join(' ')}`])}`,
  },
} as const
const quote = (words: readonly string[]) => words.map((word) => `'${word}'`).join(' ')

async function offered(shell: keyof typeof SHELLS, words: readonly string[]): Promise<string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'paylink-completion-'))
  try {
    const script = join(folder, 'try')
    const { text } = await run('completion', shell)
    await writeFile(script, `${text}\n${SHELLS[shell].ask(words)}\n`)
    const env = { ...process.env, HOME: folder, ZDOTDIR: folder }
    const { stdout, stderr } = await promisify(execFile)(SHELLS[shell].path(), [script], { cwd: folder, env })
    expect(stderr).toBe('')
    const typed = words.at(-1) ?? ''
    return stdout
      .split('\n')
      .map((line) => line.replace(/[:\t].*/, ''))
      .filter((word) => word !== '' && (word.startsWith(typed) || word === 'files'))
  } finally {
    await rm(folder, { recursive: true })
  }
}

for (const shell of ['bash', 'zsh', 'fish'] as const)
  test(`${shell} completes commands, their options, and the words that they take`, {
    tags: shell === 'bash' ? [] : [shell],
  }, async () => {
    expect(await offered(shell, ['mer'])).toEqual(['merchant'])
    expect((await offered(shell, ['merchant', ''])).sort()).toEqual(['brand', 'create', 'move'])
    expect(await offered(shell, ['merchant', 'create', '--na'])).toEqual(['--name'])
    // An option's value is no command.
    expect(await offered(shell, ['merchant', 'create', '--name', 'Shop', '--em'])).toEqual(['--email'])
    expect(await offered(shell, ['trigger', 'invoice.pa'])).toEqual(
      expect.arrayContaining(['invoice.paid', 'invoice.payment_detected']),
    )
    expect((await offered(shell, ['completion', ''])).sort()).toEqual(['bash', 'fish', 'zsh'])
    expect(await offered(shell, ['start', 'watch'])).toContain('watcher')
  })

test('zsh offers files where a file is meant', { tags: ['zsh'] }, async () => {
  expect(await offered('zsh', ['import', ''])).toEqual(['files'])
  expect(await offered('zsh', ['restore', '--key-file', ''])).toEqual(['files'])
})

test('another shell is refused with those that are known', async () => {
  expect(await run('completion', 'tcsh')).toMatchObject({
    code: 2,
    problems: expect.stringContaining('bash, zsh, fish'),
  })
})
