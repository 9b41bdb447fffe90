import { readdir } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import sharp from 'sharp'
import { expect, test } from 'vitest'
import { ROUTES } from '../../src/http/api/routes.ts'
import { documentationOf } from '../../src/http/docs/documentation.ts'
import { GUIDE_GROUPS } from '../../src/http/docs/guides.tsx'
import { builtFile } from '../../src/web/built-files.ts'

const { pages, files, pictures } = documentationOf(ROUTES, 'https://pay.example.com')

test('every document of docs/ is a guide, listed once', async () => {
  const folder = new URL('../../docs/', import.meta.url)
  const files = await readdir(folder, { recursive: true })
  const names = files.filter((file) => file.endsWith('.md')).map((file) => file.slice(0, -'.md'.length))
  expect(GUIDE_GROUPS.flatMap((group) => group.names).sort()).toEqual(names.sort())
})

test('every link of the documentation that stays here leads to a page, and to a part of it', () => {
  const entries: { url: string }[] = JSON.parse(files.get('/docs/search.json') ?? '')
  const links = entries.map(({ url }) => ({ from: 'search', url }))
  for (const [from, page] of pages)
    for (const [, href = ''] of page.matchAll(/<a href="([^"]+)"/g))
      if (!/^(https?:|mailto:|\/openapi|\/dashboard\/)/.test(href))
        links.push({ from, url: href.startsWith('#') ? from + href : href })
  const broken = links.filter(({ url }) => {
    const [path = '', id] = url.split('#')
    const page = pages.get(path)
    return page === undefined || (id !== undefined && !page.includes(`id="${id}"`))
  })
  expect(links.length).toBeGreaterThan(1_000)
  expect(broken).toEqual([])
})

test('every guide is there as Markdown, and /llms.txt lists them all', () => {
  const sources = [...files.keys()].filter((path) => path.endsWith('.md'))
  const guides = [...pages.keys()].filter((path) => path.startsWith('/docs/guides/'))
  expect(sources.sort()).toEqual(guides.map((path) => `${path}.md`).sort())
  const list = files.get('/llms.txt') ?? ''
  expect(list).toMatch(/^# Paylink\n\n> /)
  for (const symbol of ['BTC', 'SOL', 'USDC', 'USDT', 'POL'])
    expect(list).toMatch(new RegExp(`paid in .*\\b${symbol}\\b`))
  const listed = [...list.matchAll(/\]\(https:\/\/pay\.example\.com([^)]+)\)/g)].map(([, path]) => path)
  expect(listed.sort()).toEqual([...sources, '/openapi.json'].sort())
  for (const path of sources) {
    const source = files.get(path) ?? ''
    expect(source).toMatch(/^# \S/)
    for (const [, href = ''] of source.matchAll(/(?<!!)\[[^\]]+\]\(([^)\s]+\.md)/g))
      expect(sources, `${path}: ${href}`).toContain(new URL(href, `https://pay.example.com${path}`).pathname)
  }
})

test('nothing of a document is lost: tables, code and headings are there', () => {
  const page = pages.get('/docs/guides/receiving-webhooks')
  expect(page).toMatch(/<h1 id="[^"]+">Receiving webhooks<\/h1>/)
  for (const part of ['<table>', '<pre tabindex="0"><code>', 'href="/docs/guides/', 'aria-current="page"'])
    expect(page).toContain(part)
  expect(page).not.toContain('.md"')
})

test('a link to a document reads as its title, not as its file', () => {
  const page = pages.get('/docs/guides/receiving-webhooks')
  expect(page).toContain('<a href="/docs/guides/events">Events</a>')
  for (const [path, text] of pages) expect(text, path).not.toMatch(/<a [^>]+>[\w/-]+\.md<\/a>/)
})

test('every picture of a guide is described, and is a PNG or SVG of the size that the page keeps free', async () => {
  const shown = [...pages.values()].flatMap((page) => [
    ...page.matchAll(/<img src="([^"]+)" alt="([^"]+)" width="(\d+)" height="(\d+)" loading="lazy">/g),
  ])
  expect(new Set(shown.map(([, path]) => path))).toEqual(new Set(pictures.keys()))
  expect(shown.length).toBeGreaterThan(10)
  for (const [, path = '', description, width, height] of shown) {
    const { format, ...size } = await sharp(fileURLToPath(builtFile(pictures.get(path) ?? ''))).metadata()
    expect([path, format, String(size.width), String(size.height)]).toEqual([
      path,
      path.endsWith('.svg') ? 'svg' : 'png',
      width,
      height,
    ])
    expect(description?.length).toBeGreaterThan(10)
  }
})
