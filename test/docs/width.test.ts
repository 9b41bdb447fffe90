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
const COLUMNS_MAX = 100
/** Of commands and code, and of a picture's line. */
const CODE_COLUMNS_MAX = 120
/** A hash, a URL or a body that stands as it is: such a line cannot break. */
const UNBREAKABLE_FROM = 80
/** Where the part of a document begins that is generated from code. */
const GENERATED_FROM = new Map([['docs/errors.md', '## The catalogue']])

test('prose is at most 100 columns wide, and code 120, but for tables and what cannot break', async () => {
  const wide: string[] = []
  for (const file of (await Promise.all(FOLDERS.map(documentsIn))).flat()) {
    let isCode = false
    for (const [index, line] of (await written(file)).split('\n').entries()) {
      if (line.trimStart().startsWith('```')) isCode = !isCode
      const columnsMax = isCode || line.startsWith('![') ? CODE_COLUMNS_MAX : COLUMNS_MAX
      const mayBeWide = line.trimStart().startsWith('|') || longestWord(line) >= UNBREAKABLE_FROM
      if (line.length > columnsMax && !mayBeWide) wide.push(`${file}:${index + 1} has ${line.length} columns`)
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
