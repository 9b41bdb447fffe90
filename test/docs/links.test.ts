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

/** `folder/name` of a test file, with `*` at the end for several; a test beside its module begins with `src/` or `secrets/`. */
const NAMED_TEST =
  /`((?:src\/)?(?:audit|browser|cli|delivery|deploy|http|payouts|people|secrets|signer|walls)\/[a-z-]+\*?)`/g

test('every test that says what is protected, or what a thief can do, is there', async () => {
  const all = [...(await testsIn('test')), ...(await testsIn('src'))]
  const missing: string[] = []
  let named = 0
  for (const file of ['SECURITY.md', 'docs/decisions/trust.md'])
    for (const [, name = ''] of (await readFile(join(ROOT, file), 'utf8')).matchAll(NAMED_TEST)) {
      named += 1
      const found = all.some((each) =>
        name.endsWith('*') ? each.startsWith(name.slice(0, -1)) : each === name || `src/${each}` === name,
      )
      if (!found) missing.push(`${file} ${name}`)
    }
  expect(named).toBeGreaterThan(80)
  expect(missing).toEqual([])
})

/** Names of the test files in a folder, such as `walls/rows-stay`. */
async function testsIn(folder: string): Promise<string[]> {
  const names = await readdir(join(ROOT, folder), { recursive: true })
  return names.filter((name) => name.endsWith('.test.ts')).map((name) => name.slice(0, -'.test.ts'.length))
}

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
