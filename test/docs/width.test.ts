import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const ROOT = new URL('../..', import.meta.url).pathname
const FOLDERS = [
  '.',
  'docs',
  'docs/decisions',
  'packages/sdk',
  'examples/embed',
  'examples/quick-start',
  'examples/receivers',
]
const COLUMNS_MAX = 120
/** A hash, a URL or a body that stands as it is: such a line cannot break. */
const UNBREAKABLE_FROM = 80
/** Where the part of a document begins that is generated from code. */
const GENERATED_FROM = new Map([['docs/errors.md', '## The catalogue']])

test('no line of a document is wider than 120 columns, but for tables and what cannot break', async () => {
  const wide: string[] = []
  for (const file of (await Promise.all(FOLDERS.map(documentsIn))).flat()) {
    for (const [index, line] of (await written(file)).split('\n').entries()) {
      const mayBeWide = line.trimStart().startsWith('|') || longestWord(line) >= UNBREAKABLE_FROM
      if (line.length > COLUMNS_MAX && !mayBeWide)
        wide.push(`${file}:${index + 1} has ${line.length} columns`)
    }
  }
  expect(wide).toEqual([])
})

async function documentsIn(folder: string): Promise<string[]> {
  const names = await readdir(join(ROOT, folder))
  return names.filter((name) => name.endsWith('.md')).map((name) => join(folder, name))
}

/** A document without the part that is generated from code. */
async function written(file: string): Promise<string> {
  const text = await readFile(join(ROOT, file), 'utf8')
  const generatedFrom = GENERATED_FROM.get(file)
  return generatedFrom === undefined ? text : text.slice(0, text.indexOf(generatedFrom))
}

const longestWord = (line: string): number => Math.max(...line.split(' ').map((word) => word.length))
