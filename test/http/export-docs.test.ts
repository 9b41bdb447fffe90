import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'

const EXPORT = new URL('../../scripts/export-docs.mjs', import.meta.url).pathname
const SITE = 'https://docs.example.com'
let folder: string
let names: ReadonlySet<string>

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'paylink-docs-'))
  await promisify(execFile)(process.execPath, [EXPORT, folder, 'https://pay.example.com'])
  const found = await readdir(folder, { recursive: true, withFileTypes: true })
  names = new Set(
    found
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(folder.length)),
  )
})
afterAll(() => rm(folder, { recursive: true, force: true }))

/** The file that a static site serves at a path. */
const fileAt = (path: string): string | undefined =>
  [path, join(path, 'index.html')].find((name) => names.has(name))

test('the exported documentation has its pages, the search, the pictures and what machines read', async () => {
  expect([...names]).toEqual(
    expect.arrayContaining([
      '/404.html',
      '/docs/index.html',
      '/docs/errors/index.html',
      '/docs/guides/index.html',
      '/docs/guides/decisions/payouts/index.html',
      '/docs/guides/payouts.md',
      '/docs/search.json',
      '/openapi.json',
      '/llms.txt',
    ]),
  )
  expect([...names].filter((name) => name.endsWith('.png')).length).toBeGreaterThan(10)
  const reference = await readFile(join(folder, 'docs/index.html'), 'utf8')
  expect(reference).toContain('id="createInvoice"')
  expect(reference).toContain('https://pay.example.com/api/v1/invoices')
  // What no key may call is the dashboard's own.
  expect(reference).not.toContain('id="createApiKey"')
})

test('every link and picture of the exported documentation leads to a file of it, and to a part of that', async () => {
  const pages = [...names].filter((name) => name.endsWith('.html'))
  const text = new Map(
    await Promise.all(pages.map(async (name) => [name, await readFile(join(folder, name), 'utf8')] as const)),
  )
  const entries: { url: string }[] = JSON.parse(await readFile(join(folder, 'docs/search.json'), 'utf8'))
  const links = entries.map(({ url }) => ({ from: '/docs', url }))
  for (const [name, page] of text)
    for (const [, url = ''] of page.matchAll(/ (?:href|src)="([^"]+)"/g))
      if (!/^(?:https?|mailto|data):/.test(url)) links.push({ from: name.replace(/\/index\.html$/, ''), url })
  const broken = links.filter(({ from, url }) => {
    const { pathname, hash } = new URL(url, SITE + from)
    const file = fileAt(decodeURIComponent(pathname))
    return file === undefined || (hash !== '' && !text.get(file)?.includes(`id="${hash.slice(1)}"`))
  })
  expect(links.length).toBeGreaterThan(1_000)
  expect(broken).toEqual([])
})
