import { readdir, readFile } from 'node:fs/promises'
import { dirname, join, normalize, relative } from 'node:path'
import { beforeAll, expect, test } from 'vitest'

/** The import rules of ARCHITECTURE.md, read off the sources themselves. */

const ROOT = new URL('..', import.meta.url).pathname
const SOURCES = join(ROOT, 'src')
/** Files of the SDK are named as if they stood in a folder of this name below src. */
const SDK = 'sdk/'
const SDK_SOURCES = join(ROOT, 'packages/sdk/src')
const LINES_MAX = 350
const DASHBOARD = 'web/dashboard/'
/** The scripts that the server's own pages carry. */
const BROWSER = /^web\/[a-z]+\/browser\//

type Import = { readonly from: string; readonly to: string; readonly isType: boolean }
type Source = { readonly path: string; readonly text: string; readonly imports: readonly Import[] }

let sources: Source[]
beforeAll(async () => {
  const product = await readFolder(SOURCES, '')
  sources = [...product, ...(await readFolder(SDK_SOURCES, SDK))]
})

async function readFolder(folder: string, prefix: string): Promise<Source[]> {
  const names = await readdir(folder, { recursive: true })
  const paths = names.filter((name) => /\.tsx?$/.test(name)).sort()
  return Promise.all(paths.map((path) => readSource(join(folder, path), prefix + path)))
}

const IMPORT = /^(?:import|export)\s+(type\s+)?(?:[\w*{}\s,$]+?\s+from\s+)?'([^']+)'/gm
const DYNAMIC_IMPORT = /\bimport\(\s*'([^']+)'/g

async function readSource(file: string, path: string): Promise<Source> {
  const text = await readFile(file, 'utf8')
  const found = [
    ...[...text.matchAll(IMPORT)].map((match) => ({ to: match[2] ?? '', isType: match[1] !== undefined })),
    ...[...text.matchAll(DYNAMIC_IMPORT)].map((match) => ({ to: match[1] ?? '', isType: false })),
  ]
  // A file of ours is named by its path below src, anything else by the package's name.
  const resolveName = (name: string) => (name.startsWith('.') ? normalize(join(dirname(path), name)) : name)
  const imports = found.map(({ to, isType }) => ({ from: path, to: resolveName(to), isType }))
  return { path, text, imports }
}

const EXPORT = /^export (?:async )?(?:abstract )?(?:function\*?|const|class|type|interface) (\w+)/gm
const NAMED_IMPORT =
  /^\s*(?:import|export|const)\s+(?:type\s+)?\{([^}]*)\}\s+(?:from\s+|= await import\()'(\.[^']+)'/gm
/** Loaded when it is needed, such as a page by the dashboard's router. */
const LAZY_IMPORT = /import\('(\.[^']+)'\)(?:, '|\)\.)(\w+)/g

/** Every file of code below a folder, named from the root. */
async function readTexts(folder: string): Promise<{ file: string; text: string }[]> {
  const names = await readdir(join(ROOT, folder), { recursive: true })
  const files = names.filter((name) => /\.(?:tsx?|mjs)$/.test(name)).map((name) => join(folder, name))
  return Promise.all(files.map(async (file) => ({ file, text: await readFile(join(ROOT, file), 'utf8') })))
}

/** What a file imports by name from files of ours, each as `file name`. */
function namesImported({ file, text }: { file: string; text: string }): string[] {
  // Scripts, and processes that tests start, import what was built.
  const resolved = (from: string) =>
    normalize(join(dirname(file), from)).replace(/^dist\/(.*)\.js$/, 'src/$1.ts')
  const named = [...text.matchAll(NAMED_IMPORT)].flatMap(([, names = '', from = '']) =>
    names.split(',').map(
      (name) =>
        `${resolved(from)} ${name
          .trim()
          .replace(/^type /, '')
          .replace(/ as .*/, '')}`,
    ),
  )
  const lazy = [...text.matchAll(LAZY_IMPORT)].map(([, from = '', name]) => `${resolved(from)} ${name}`)
  return [...named, ...lazy]
}

const isTest = (path: string) => /\.test\.tsx?$/.test(path)
const isOurs = (name: string) => /\.tsx?$/.test(name)
const productSources = () => sources.filter((source) => !isTest(source.path))
const productImports = () => productSources().flatMap((source) => source.imports)
const told = (imports: readonly Import[]) => imports.map(({ from, to }) => `${from} imports ${to}`)

/** Imports from files below `folder` to anything that `allowed` does not name. */
function importsBeyond(folder: string, allowed: RegExp): string[] {
  return told(productImports().filter(({ from, to }) => from.startsWith(folder) && !allowed.test(to)))
}

/** Imports from files that `from` names to what `to` names. */
function importsBetween(from: RegExp, to: RegExp): string[] {
  return told(productImports().filter((one) => from.test(one.from) && to.test(one.to)))
}

test('core imports nothing but core: no package, no node module, no other part of ours', () => {
  expect(importsBeyond('core/', /^core\//)).toEqual([])
})

test('core knows no clock, no randomness and no global that is not of the language', () => {
  const impure =
    /\b(Date\.now|new Date\(\)|Math\.random|performance\.|process\.|Buffer\b|fetch\(|setTimeout|setInterval|console\.)/
  expect(linesWith('core/', impure)).toEqual([])
})

test('wire imports nothing of ours but wire and core', () => {
  expect(importsBeyond('wire/', /^(wire\/|core\/|zod$)/)).toEqual([])
})

test('the SDK needs nothing of ours and no package, and the product does not need the SDK', () => {
  expect(importsBeyond(SDK, /^(sdk\/|node:crypto$)/)).toEqual([])
  expect(importsBetween(/^(?!sdk\/)/, /^(sdk\/|paylink-sdk|(?:\.\.\/)+packages\/)/)).toEqual([])
  // Where only fetch is needed the client runs without node; webhooks alone are verified with its crypto.
  expect(importsBetween(/^sdk\/(?!webhooks\/verify\.ts$)/, /^node:/)).toEqual([])
})

test('web imports only web, wire, core, the clock and the parts that render pages', () => {
  const allowed =
    /^(web\/|wire\/|core\/|runtime\/clock\.ts$|hono$|hono\/|lru-cache$|p-limit$|uqr$|node:(?:crypto|fs)$)/
  const beyond = productImports().filter(
    ({ from, to }) => from.startsWith('web/') && !from.startsWith(DASHBOARD) && !allowed.test(to),
  )
  expect(told(beyond)).toEqual([])
})

test('scripts of the server’s pages import only each other and types; one file reads what was built', () => {
  const values = productImports().filter(
    ({ from, to, isType }) => BROWSER.test(from) && !isType && !BROWSER.test(to),
  )
  expect(told(values)).toEqual([])
  expect(importsBetween(/^web\/(?!built-files\.ts$)/, /^node:fs/)).toEqual([])
  // Built apart: what the server imported of them would run in it.
  expect(importsBetween(/^(?!web\/[a-z]+\/browser\/)/, BROWSER)).toEqual([])
})

test('a sandbox chain stands on core and the runtime: no database, flow, API or chain adapter of ours', () => {
  const runtime = 'clock|log|child-environment|data-dir|free-port|repeat|start-refused|url-host'
  const below = new RegExp(`^(?:core|sandbox)/|^(?:[a-z]+/)?(?:${runtime})\\.ts$|^(?![a-z-./]*\\.tsx?$)`)
  expect(importsBeyond('sandbox/', below)).toEqual([])
})

test('the dashboard is a client of the API: it knows wire, core, itself and what makes pages', () => {
  const allowed =
    /^(web\/dashboard\/|wire\/|core\/|react$|react-dom\/client$|@tanstack\/react-(?:query|router)$|uplot(?:$|\/)|uqr$|zod$)/
  expect(importsBeyond(DASHBOARD, allowed)).toEqual([])
  expect(importsBetween(/^(?!web\/dashboard\/)/, /^web\/dashboard\//)).toEqual([])
  // The schemas would bring zod into the browser: of wire and core only types, the scopes, and what money and networks are.
  const values = productImports().filter(
    ({ from, to, isType }) =>
      from.startsWith(DASHBOARD) &&
      /^(core\/(?!(?:money|assets|asset-order|finality|checkout\/explorer|rates\/currencies|chain\/evm-networks)\.ts$)|wire\/(?!scopes\.ts$)|zod$)/.test(
        to,
      ) &&
      !isType,
  )
  expect(told(values)).toEqual([])
})

test('a chain knows no database, no flow and no other chain', () => {
  expect(importsBetween(/^chain\//, /^(db|flows|http|roles|watcher)\//)).toEqual([])
  const chainOf = (path: string) => /^chain\/([a-z]+)\//.exec(path)?.[1]
  const crossing = productImports().filter(({ from, to }) => {
    const [fromChain, toChain] = [chainOf(from), chainOf(to)]
    return fromChain !== undefined && toChain !== undefined && fromChain !== toChain
  })
  expect(told(crossing)).toEqual([])
})

test('queries know no flow and no HTTP; flows share steps, and know no HTTP and no other flow', () => {
  expect(importsBetween(/^(db|postgres)\//, /^(flows|payouts|http|web|roles)\//)).toEqual([])
  expect(importsBetween(/^flows\//, /^(flows\/(?!steps\/)|payouts\/(?!store\/)|http|web|roles)\//)).toEqual(
    [],
  )
})

test('flows stand on core, database and secrets; only one sends, between two transactions', () => {
  const below =
    /^(core|db|postgres|runtime|secrets|payouts\/store|flows\/steps)\/|^wire\/scopes\.ts$|^(?:lru-cache|node:crypto)$/
  const others = importsBeyond('flows/', below).filter(
    (line) => !/^flows\/verify-endpoint\.ts .*delivery\//.test(line),
  )
  expect(others).toEqual([])
})

test('only the signer role and its commands import the keys and what signs', () => {
  const signerProcess =
    '(?:signer|payouts/sign)/|roles/start-signer\\.ts$|cli/(?:run-signer|signer-commands|signer-place)\\.ts$'
  const others = new RegExp(`^(?!${signerProcess})`)
  expect(importsBetween(others, /^(signer|payouts\/sign)\//)).toEqual([])
  expect(importsBetween(/^signer\//, /^payouts\//)).toEqual([])
})

test('payout queries and verbs know only queries; broadcasting and signing do not know each other', () => {
  expect(importsBeyond('payouts/store/', /^(core|db|postgres|runtime|payouts\/store)\/|^node:/)).toEqual([])
  expect(
    importsBetween(/^payouts\/[^/]+$/, /^(flows\/(?!steps\/)|http|chain|payouts\/(broadcast|sign))\//),
  ).toEqual([])
  expect(importsBetween(/^payouts\/broadcast\//, /^(http|web)\//)).toEqual([])
  expect(importsBetween(/^payouts\/sign\//, /^(http|web|flows|payouts\/broadcast)\//)).toEqual([])
})

test('nothing imports a role but the wiring of the start command, and roles know no other role', () => {
  expect(
    importsBetween(/^(?!cli\/run-(?:roles|signer)\.ts$)/, /^roles\/(?!role\.ts$|start-signer\.ts$)/),
  ).toEqual([])
})

test('no file imports itself by way of others, types included', () => {
  const next = new Map(
    productSources().map(({ path, imports }) => [
      path,
      imports.filter(({ to }) => isOurs(to)).map(({ to }) => to),
    ]),
  )
  const done = new Set<string>()
  const cycles: string[] = []
  const visit = (path: string, trail: readonly string[]) => {
    if (trail.includes(path)) cycles.push([...trail.slice(trail.indexOf(path)), path].join(' → '))
    if (done.has(path) || trail.includes(path)) return
    for (const to of next.get(path) ?? []) visit(to, [...trail, path])
    done.add(path)
  }
  for (const path of next.keys()) visit(path, [])
  expect(cycles).toEqual([])
})

test('only src/config reads the environment', () => {
  // Examples for shops are text that reads theirs.
  expect(
    linesWith('', /process\.env|from 'node:process'/, [
      'config/config.ts',
      'config/child-environment.ts',
      'http/docs/code-samples.ts',
    ]),
  ).toEqual([])
})

test('every child process gets an environment that was chosen for it', () => {
  const starts = productSources()
    .filter(({ imports }) => imports.some(({ to }) => to === 'node:child_process'))
    .flatMap(({ path, text }) =>
      [...text.matchAll(/\b(?:spawn|fork|exec|execFile|runFile)(?:Sync)?\(/g)].map(({ index }) => ({
        path,
        call: text.slice(index, endOfCall(text, index)),
      })),
    )
  expect(starts.length).toBeGreaterThan(4)
  expect(starts.filter(({ call }) => !/\benv:/.test(call))).toEqual([])
})

/** The index behind the parenthesis that closes the first one from `start` on. */
function endOfCall(text: string, start: number): number {
  let depth = 0
  for (let index = text.indexOf('(', start); index < text.length; index++) {
    if (text[index] === '(') depth++
    if (text[index] === ')' && --depth === 0) return index + 1
  }
  return text.length
}

test('a plugin declares every package that it imports, as strict package managers ask', async () => {
  for (const name of ['mcp', 'medusa', 'vendure']) {
    const folder = join(ROOT, 'packages', name)
    const { dependencies, peerDependencies } = JSON.parse(
      await readFile(join(folder, 'package.json'), 'utf8'),
    )
    const texts = await readTexts(`packages/${name}/src`)
    const imported = texts.flatMap(({ text }) => [...text.matchAll(IMPORT)].map(([, , to = '']) => to))
    const packages = imported
      .filter((to) => !/^(?:\.|node:)/.test(to))
      .map((to) => /^(?:@[^/]+\/)?[^/]+/.exec(to)?.[0])
    expect(packages.length, name).toBeGreaterThan(0)
    expect(Object.keys({ ...dependencies, ...peerDependencies }), name).toEqual(
      expect.arrayContaining(packages),
    )
  }
})

test('each migration has a number of its own: two with one would leave no database up to date', async () => {
  const numbers = (await readdir(join(ROOT, 'migrations'))).map((name) => Number(name.slice(0, 4)))
  expect(numbers.filter((number, index) => numbers.indexOf(number) < index)).toEqual([])
})

test('only src/postgres/transaction.ts and the migrations say begin and commit', () => {
  const transaction = /query\(\s*['"`]\s*(begin|commit|rollback|start transaction)\b/i
  expect(linesWith('', transaction, ['postgres/transaction.ts', 'postgres/migrate.ts'])).toEqual([])
})

test('a setting of a database session ends with its transaction', () => {
  // A plain SET stays on the connection and leaks to whoever the pool gives it to next.
  expect(linesWith('', /query\(\s*['"`]\s*set (?!local\b|transaction\b)/i)).toEqual([])
})

test('secrets are compared in constant time', () => {
  const name = '(?:secret|signature|digest|hmac|mac|hash|token|password|challenge|expected|genuine)[a-z]*'
  const known = `(?:null|undefined|typeof|['"\`])`
  const compared = new RegExp(
    `${name} [!=]==? (?!${known})|(?<!${known}) [!=]==? [a-z.]*${name}\\b(?![.(])`,
    'i',
  )
  // A block's hash is public: chains compare it freely. And a text may be compared with the one spelling of its own bytes.
  const harmless =
    /^(chain|sandbox|watcher|audit|doctor|payouts\/broadcast)\/|block\??\.hash ===|toString\('base64url'\) !==/
  expect(linesWith('', compared).filter((line) => !harmless.test(line))).toEqual([])
})

test('every import of ours carries its extension, and every file is exported by name', () => {
  const bare = productImports().filter(
    ({ to }) => !isOurs(to) && sources.some(({ path }) => path.startsWith(`${to}.`)),
  )
  expect(told(bare)).toEqual([])
  expect(linesWith('', /^export default\b|^export \*/)).toEqual([])
})

test('what a file exports, another file imports', async () => {
  const readers = await Promise.all(
    ['src', 'packages/sdk/src', 'test', 'bench', 'scripts'].map((folder) => readTexts(folder)),
  )
  const imported = new Set(readers.flat().flatMap(namesImported))
  const exported = [...(await readTexts('src')), ...(await readTexts('packages/sdk/src'))].flatMap(
    ({ file, text }) => [...text.matchAll(EXPORT)].map(([, name]) => `${file} ${name}`),
  )
  expect(exported.filter((one) => !imported.has(one))).toEqual([])
})

test('file names are kebab-case', () => {
  const name = /^(?:[a-z0-9]+(?:-[a-z0-9]+)*\/)*[a-z0-9]+(?:-[a-z0-9]+)*(?:\.test)?\.tsx?$/
  expect(sources.map(({ path }) => path).filter((path) => !name.test(path))).toEqual([])
})

test('every migration has a number of its own', async () => {
  const numbers = (await readdir(join(ROOT, 'migrations'))).map((name) => name.slice(0, 4))
  expect(numbers.filter((number, at) => numbers.indexOf(number) !== at)).toEqual([])
})

test('names say what a thing is', () => {
  const vague = /(^|[/-])(manager|helper|helpers|service|services|utils|util|data|info|misc|common)\.tsx?$/
  expect(sources.map(({ path }) => path).filter((path) => vague.test(path))).toEqual([])
  expect(linesWith('', /\b(class|type|interface) [A-Za-z]*(Manager|Helper|Service|Utils)\b/)).toEqual([])
})

test(`no file is longer than ${LINES_MAX} lines`, () => {
  const written = productSources().filter(({ text }) => !text.startsWith('// Written by `npm run sdk`'))
  const long = written.filter(({ text }) => text.split('\n').length - 1 > LINES_MAX)
  expect(long.map(({ path, text }) => `${path}: ${text.split('\n').length - 1}`)).toEqual([])
})

const TITLE = /\b(?:test|it)(?:\.\w+(?:<[^>]*>)?(?:\([^)]*\))?)*\(\s*(['"`])((?:\\.|(?!\1).)*)\1/g
const TITLE_LENGTH_MAX = 100

test(`a test's title has at most ${TITLE_LENGTH_MAX} characters`, async () => {
  const texts = (await Promise.all(['src', 'packages/sdk/src', 'test'].map(readTexts))).flat()
  const long = texts.flatMap(({ file, text }) =>
    [...text.matchAll(TITLE)]
      .filter(([, , title = '']) => title.length > TITLE_LENGTH_MAX)
      .map(([, , title]) => `${file}: ${title}`),
  )
  expect(long).toEqual([])
})

test('tests wait with one helper', async () => {
  const polls = (await readTexts('test')).filter(({ text }) =>
    /function (?:until|eventually|waitFor)\b/.test(text),
  )
  expect(polls.map(({ file }) => file)).toEqual(['test/support/until.ts'])
})

test('nothing is left to do, skipped or switched off', () => {
  expect(linesWith('', /\b(TODO|FIXME|XXX|HACK)\b|@ts-(ignore|expect-error|nocheck)/)).toEqual([])
})

/** `path:line: text` of every line below `folder` that matches, tests and the files of `except` left out. */
function linesWith(folder: string, pattern: RegExp, except: readonly string[] = []): string[] {
  return productSources()
    .filter(({ path }) => path.startsWith(folder) && !except.includes(path))
    .flatMap(({ path, text }) =>
      text.split('\n').flatMap((line, index) => {
        const code = /^\s*(\/\/|\*|\/\*)/.test(line) && !pattern.source.includes('TODO') ? '' : line
        return pattern.test(code) ? [`${relative('.', path)}:${index + 1}: ${line.trim()}`] : []
      }),
    )
}

/** Who reads invoices without showing them, or shows what it wrote in the same transaction. */
const READ_UNSHOWN = [
  'audit/audit-invoices.ts',
  'flows/begin-test-payment.ts',
  'flows/card-purchases.ts',
  'flows/checkout-sessions.ts',
  'flows/expire-invoices.ts',
  'flows/record-transfers.ts',
  'flows/release-decided.ts',
  'flows/reopen-invoice.ts',
  'flows/steps/load-session.ts',
  'flows/steps/shown-invoices.ts',
  'flows/switch-asset.ts',
  'flows/x402-payments.ts',
  'http/api/routes/checkout-sessions.ts',
  'payouts/broadcast/x402-unsigned.ts',
  'roles/sandbox.ts',
]

test('whatever shows an invoice reads it through the check of its address', () => {
  const unchecked = productSources().filter(
    ({ path, text }) =>
      !path.startsWith('db/invoices/') &&
      /\b(loadInvoice|lockInvoices|listInvoices|loadInvoicesById|invoiceFromRow)\(/.test(text),
  )
  const elsewhere = unchecked.map(({ path }) => path).filter((path) => !isClient(path))
  expect(elsewhere).toEqual(READ_UNSHOWN)
})

/** Clients of the API have functions of the same names. */
const isClient = (path: string) => /^(compat|web|sdk)\//.test(path)
