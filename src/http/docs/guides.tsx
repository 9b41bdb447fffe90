import { raw } from 'hono/html'
import { ASSET_IDS, COINS } from '../../core/assets.ts'
import { CURRENCIES } from '../../core/rates/currencies.ts'
import { readBuilt } from '../../web/built-files.ts'
import { docsPage } from './docs-layout.tsx'

/** A document of docs/, as `scripts/render-guides.mjs` writes it. */
type Guide = {
  /** Its path below docs/, without `.md`. */
  readonly name: string
  readonly title: string
  readonly headings: readonly { readonly id: string; readonly text: string; readonly depth: number }[]
  /** The pictures that it shows, as paths below docs/images/. */
  readonly pictures: readonly string[]
  readonly html: string
  /** What it is made from, without links that lead nowhere on the site. */
  readonly markdown: string
}

const GUIDES: readonly Guide[] = JSON.parse(readBuilt('guides.json'))
const GUIDES_PATH = '/docs/guides'

/** In which order the guides are listed; what is in no group is a decision. */
export const GUIDE_GROUPS: readonly { readonly title: string; readonly names: readonly string[] }[] = [
  {
    title: 'Start',
    names: [
      'first-hour',
      'setup',
      'dashboard',
      'payment-links',
      'point-of-sale',
      'real-wallet',
      'coming-from-elsewhere',
    ],
  },
  {
    title: 'Integrate',
    names: [
      'receiving-webhooks',
      'events',
      'errors',
      'deposits',
      'receipts',
      'buyer-emails',
      'card',
      'x402',
      'mcp',
    ],
  },
  { title: 'Money', names: ['payouts', 'books', 'keys'] },
  {
    title: 'Operate',
    names: [
      'operating',
      'production',
      'boxes',
      'operating-chains',
      'ethereum-and-base',
      'operating-webhooks',
      'backup',
      'monitoring',
      'upgrading',
      'scaling',
      'cluster',
      'cells',
    ],
  },
  { title: 'Measured', names: ['figures', 'long-runs'] },
  {
    title: 'Decisions',
    names: GUIDES.map(({ name }) => name).filter((name) => name.startsWith('decisions/')),
  },
]

const pathOf = ({ name }: Guide) => `${GUIDES_PATH}/${name}`
const guideOf = (name: string): Guide => {
  const guide = GUIDES.find((each) => each.name === name)
  if (guide === undefined) throw new Error(`there is no docs/${name}.md`)
  return guide
}

/** The pictures of the guides: the path of each and the file of the build that has it, by its name for `builtFile`. */
export const GUIDE_PICTURES: ReadonlyMap<string, string> = new Map(
  GUIDES.flatMap(({ pictures }) =>
    pictures.map((picture) => [`${GUIDES_PATH}/images/${picture}`, `images/${picture}`] as const),
  ),
)

/** Every guide as Markdown, by path: beside its page, under the same name with `.md`. */
export const GUIDE_SOURCES: ReadonlyMap<string, string> = new Map(
  GUIDES.map((guide) => [`${pathOf(guide)}.md`, guide.markdown]),
)

/** The contents of the documentation for language models, in the form of llmstxt.org. */
/** A coin on several networks once. */
const TICKERS = [...new Set(ASSET_IDS.map((asset) => COINS[asset].symbol))]

export function llmsTxt(baseUrl: string): string {
  const sections = GUIDE_GROUPS.map(({ title, names }) => [
    `## ${title}`,
    '',
    ...names.map(guideOf).map((guide) => `- [${guide.title}](${baseUrl}${pathOf(guide)}.md)`),
    '',
  ])
  return [
    '# Paylink',
    '',
    `> Self-hosted crypto payments: invoices, payment links, tills and permanent addresses, priced in US dollars or one of`,
    `> ${CURRENCIES.length} other currencies, and paid in ${TICKERS.join(', ')}; signed webhooks; payouts that a person approves.`,
    '',
    '## API',
    '',
    `- [OpenAPI 3.1 document](${baseUrl}/openapi.json): every request, with examples and errors`,
    '',
    ...sections.flat(),
  ].join('\n')
}

/** How each guide's page and their index are rendered, by path. */
export function guidePages(): readonly (readonly [path: string, render: () => string])[] {
  return [
    [GUIDES_PATH, () => docsPage('Guides', 'guides', <Contents />, <Index />)],
    ...GUIDES.map((guide) => [pathOf(guide), () => renderGuide(guide)] as const),
  ]
}

/** What an address below `/docs` that leads nowhere answers. */
export const renderMissing = (): string =>
  docsPage(
    'Page not found',
    null,
    <Contents />,
    <>
      <h1>Page not found</h1>
      <p>
        The documentation has no such page. Use the search, or go to the <a href={GUIDES_PATH}>Guides</a>, the{' '}
        <a href="/docs">API reference</a> or the <a href="/docs/errors">Errors</a>.
      </p>
    </>,
  )

function renderGuide(guide: Guide): string {
  const navigation = (
    <>
      {guide.headings.length > 0 && (
        <>
          <h2>On this page</h2>
          <ul>
            {guide.headings.map(({ id, text, depth }) => (
              <li class={`depth-${depth}`}>
                <a href={`#${id}`}>{text}</a>
              </li>
            ))}
          </ul>
        </>
      )}
      <Contents current={guide.name} />
    </>
  )
  return docsPage(guide.title, 'guides', navigation, <article>{raw(guide.html)}</article>)
}

const Contents = ({ current }: { current?: string }) => (
  <>
    {GUIDE_GROUPS.map(({ title, names }) => (
      <>
        <h2>{title}</h2>
        <ul>
          {names.map(guideOf).map((guide) => (
            <li>
              <a href={pathOf(guide)} aria-current={guide.name === current ? 'page' : undefined}>
                {guide.title}
              </a>
            </li>
          ))}
        </ul>
      </>
    ))}
  </>
)

const Index = () => (
  <>
    <h1>Guides</h1>
    <p>
      How to sell with Paylink, connect your server, and run it. For single requests and their answers see the{' '}
      <a href="/docs">API reference</a>.
    </p>
    {GUIDE_GROUPS.map(({ title, names }) => (
      <section>
        <h2>{title}</h2>
        <ul>
          {names.map(guideOf).map((guide) => (
            <li>
              <a href={pathOf(guide)}>{guide.title}</a>
            </li>
          ))}
        </ul>
      </section>
    ))}
  </>
)

/** What the search box of the documentation finds: a title, where it leads, and the words that stand there. */
export type SearchEntry = {
  readonly title: string
  readonly in: string
  readonly url: string
  readonly words?: string
}

/** Searched by their headings alone: they are long, and few who look for a word want the reasons or the measurements. */
const isSearchedByHeadings = ({ name }: Guide) => name.startsWith('decisions/') || name === 'figures'

/** Every guide and its headings, with the words below each. */
export const guideEntries = (): readonly SearchEntry[] =>
  GUIDES.flatMap((guide) => {
    const words = isSearchedByHeadings(guide) ? new Map<string, string>() : wordsByHeading(guide)
    const entry = (id: string | undefined, title: string, where: string, url: string) => {
      const found = id === undefined ? undefined : words.get(id)
      return { title, in: where, url, ...(found === undefined ? {} : { words: found }) }
    }
    const [first] = words.keys()
    return [
      entry(first, guide.title, 'Guide', pathOf(guide)),
      ...guide.headings.map(({ id, text }) => entry(id, text, guide.title, `${pathOf(guide)}#${id}`)),
    ]
  })

/** The different words below each heading of the contents, by its id; what stands below a deeper one belongs to it. */
function wordsByHeading({ html, headings }: Guide): ReadonlyMap<string, string> {
  const parts = html.split(/(?=<h[1-3] id=")/).filter((part) => part.startsWith('<h'))
  const known = new Set(headings.map(({ id }) => id))
  return new Map(
    parts.map((part, index): [string, string] => {
      const [, id = ''] = /^<h\d id="([^"]+)"/.exec(part) ?? []
      if (index > 0 && !known.has(id)) throw new Error(`${id} is no heading of the contents`)
      return [id, differentWords(part.replace(/<[^>]+>|&\w+;/g, ' '))]
    }),
  )
}

/** Short words are in every section, and find nothing. */
const WORD = /[\p{L}\p{N}_][\p{L}\p{N}_.-]+[\p{L}\p{N}_]/gu

export const differentWords = (text: string): string =>
  [...new Set(text.toLowerCase().match(WORD) ?? [])].join(' ')
