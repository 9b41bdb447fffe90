import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { dirname, join, normalize } from 'node:path'
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
const LINK = /\]\((?!https?:|mailto:)([^)\s#]*)(?:#([^)\s]+))?\)/g

test('every link between documents leads to a file, and to a heading of it', async () => {
  const broken: string[] = []
  const files = (await Promise.all(FOLDERS.map(documentsIn))).flat()
  for (const file of files) {
    const text = await readFile(join(ROOT, file), 'utf8')
    for (const [link, path = '', heading] of withoutCode(text).matchAll(LINK)) {
      const to = path === '' ? file : normalize(join(dirname(file), path))
      const isThere = existsSync(join(ROOT, to)) && (heading === undefined || (await hasHeading(to, heading)))
      if (!isThere) broken.push(`${file} ${link}`)
    }
  }
  expect(files.length).toBeGreaterThan(40)
  expect(broken).toEqual([])
})

async function documentsIn(folder: string): Promise<string[]> {
  const names = await readdir(join(ROOT, folder))
  return names.filter((name) => name.endsWith('.md')).map((name) => join(folder, name))
}

const withoutCode = (text: string): string => text.replace(/^```.*?^```/gms, '')

/** Anchors are made of headings as GitHub makes them. */
async function hasHeading(file: string, anchor: string): Promise<boolean> {
  const text = withoutCode(await readFile(join(ROOT, file), 'utf8'))
  const headings = [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\-_ ]/gu, '')
      .replaceAll(' ', '-'),
  )
  return headings.includes(anchor)
}
