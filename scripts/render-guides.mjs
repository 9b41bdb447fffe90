import { readFileSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join, posix } from 'node:path'
import { Lexer, Marked } from 'marked'
import { getHeadingList, gfmHeadingId } from 'marked-gfm-heading-id'

/** Below docs/, the folders whose Markdown the program serves. */
const FOLDERS = ['', 'decisions']
const HEADING_DEPTH_MAX = 3
/** The text of a link that names a document by its file. */
const FILE_NAME = /^[\w/-]+\.md$/
/** A link in Markdown to another file, no picture. */
const LINK = /(?<!!)\[([^\]]+)\]\(((?:\.\.?\/|[\w-]+[/.])[^)\s]*)\)/g

/**
 * The documents of docs/ as HTML, for `dist/pages/guides.json`: `[{ name, title, headings: [{ id, text, depth }], pictures,
 * html, markdown }]`, where `name` is the path below docs/ without `.md`, and pictures are paths below docs/images/. Links
 * between them lead to `/docs/guides/…`; a link to another file of the repository is its text, since the program does not
 * serve that.
 */
export async function renderGuides(root) {
  const names = (await Promise.all(FOLDERS.map((folder) => namesIn(root, folder)))).flat().sort()
  const texts = await Promise.all(names.map((name) => readFile(join(root, 'docs', `${name}.md`), 'utf8')))
  const titles = new Map(names.map((name, index) => [name, /^# (.+)/.exec(texts[index])?.[1] ?? name]))
  return names.map((name, index) => render(root, name, texts[index], titles))
}

async function namesIn(root, folder) {
  const files = await readdir(join(root, 'docs', folder))
  return files
    .filter((file) => file.endsWith('.md'))
    .map((file) => posix.join(folder, file.slice(0, -'.md'.length)))
}

/** In pixels: a PNG begins with it (PNG §11.2.1), and an SVG of ours names it. */
function sizeOf(bytes) {
  const [, width, height] = /^<svg [^>]*width="(\d+)" height="(\d+)"/.exec(bytes.latin1Slice(0, 500)) ?? []
  return width === undefined
    ? { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) }
    : { width, height }
}

function render(root, name, text, titles) {
  const pictures = []
  const marked = new Marked(gfmHeadingId())
  marked.use({
    renderer: {
      link({ href, tokens }) {
        const target = targetOf(name, href, titles)
        const title = target === null ? undefined : titles.get(pathBelowDocs(name, href))
        // A reader of the site knows no files: what names one there is the title of its page.
        const inner =
          title !== undefined && FILE_NAME.test(tokens[0]?.raw ?? '')
            ? this.parser.parseInline(Lexer.lexInline(title))
            : this.parser.parseInline(tokens)
        return target === null ? inner : `<a href="${escapeHtml(target)}">${inner}</a>`
      },
      image({ href, text: description }) {
        const picture = posix.relative('images', posix.join(posix.dirname(name), href))
        pictures.push(picture)
        // Its size keeps the page from moving when the picture comes.
        const { width, height } = sizeOf(readFileSync(join(root, 'docs/images', picture)))
        return `<img src="/docs/guides/images/${picture}" alt="${escapeHtml(description)}" width="${width}" height="${height}" loading="lazy">`
      },
      table(token) {
        const cells = (row, tag) =>
          `<tr>${row.map((cell) => `<${tag}>${this.parser.parseInline(cell.tokens)}</${tag}>`).join('')}</tr>`
        const body = token.rows.map((row) => cells(row, 'td')).join('')
        return `<div class="scroll" tabindex="0"><table><thead>${cells(token.header, 'th')}</thead><tbody>${body}</tbody></table></div>`
      },
      code: ({ text: code }) => `<pre tabindex="0"><code>${escapeHtml(code)}</code></pre>`,
    },
  })
  const html = marked.parse(text)
  const headings = getHeadingList().map(({ id, text: words, level }) => ({
    id,
    text: plain(words),
    depth: level,
  }))
  const [title] = headings
  if (title?.depth !== 1) throw new Error(`docs/${name}.md does not begin with a heading`)
  return {
    name,
    title: title.text,
    headings: headings.slice(1).filter(({ depth }) => depth <= HEADING_DEPTH_MAX),
    pictures,
    html,
    markdown: text.replace(LINK, (link, inner, href) =>
      targetOf(name, href, titles) === null ? inner : link,
    ),
  }
}

/** Where a link of a document leads on the site; null where the site has no such page. */
function targetOf(name, href, titles) {
  if (/^(?:https?:|mailto:|#)/.test(href)) return href
  const [path = '', anchor] = href.split('#')
  const to = pathBelowDocs(name, href)
  if (!path.endsWith('.md') || !titles.has(to)) return null
  return `/docs/guides/${to}${anchor === undefined ? '' : `#${anchor}`}`
}

/** The path below docs/, without `.md`, of what a document links to. */
const pathBelowDocs = (name, href) =>
  posix.normalize(posix.join(posix.dirname(name), href.split('#')[0])).replace(/\.md$/, '')

const escapeHtml = (text) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
/** A heading's text without its tags and entities. */
const plain = (html) =>
  html
    .replace(/<[^>]+>/g, '')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&')
