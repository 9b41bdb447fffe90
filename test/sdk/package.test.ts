import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'

/** The package as it is published: packed by npm, unpacked where a shop has it, with nothing of this repository around. */

const run = promisify(execFile)
const ROOT = new URL('../..', import.meta.url).pathname
const COMPRESSED_BYTES_MAX = 10 * 1024

let shop: string
let installed: string
beforeAll(async () => {
  shop = await mkdtemp(join(tmpdir(), 'paylink-shop-'))
  installed = join(shop, 'node_modules/paylink-sdk')
  await mkdir(installed, { recursive: true })
  const packed = await run(
    'npm',
    ['pack', '--json', '--pack-destination', shop, join(ROOT, 'packages/sdk')],
    {
      cwd: shop,
    },
  )
  const [{ filename }] = JSON.parse(packed.stdout) as [{ filename: string }]
  await run('tar', ['-xzf', join(shop, filename), '-C', installed, '--strip-components=1'])
  await writeFile(join(shop, 'package.json'), '{"type":"module"}')
})
afterAll(() => rm(shop, { recursive: true, force: true }))

test('it has no dependencies and no scripts, and holds code, types, licence and guide alone', async () => {
  const manifest: object = JSON.parse(await readFile(join(installed, 'package.json'), 'utf8'))
  for (const field of ['dependencies', 'peerDependencies', 'optionalDependencies', 'scripts']) {
    expect(manifest).not.toHaveProperty(field)
  }
  const files = await readdir(installed, { recursive: true })
  expect(files.filter((name) => !/^dist$|^dist\/webhooks$|\.js$|\.d\.ts$/.test(name)).sort()).toEqual([
    'LICENSE',
    'README.md',
    'package.json',
  ])
})

test(`all of its code is at most ${COMPRESSED_BYTES_MAX} bytes compressed`, async () => {
  const files = (await readdir(installed, { recursive: true })).filter((name) => name.endsWith('.js')).sort()
  const code = await Promise.all(files.map((name) => readFile(join(installed, name))))
  const bytes = gzipSync(Buffer.concat(code)).length
  console.info(`paylink-sdk: ${files.length} files, ${bytes} bytes compressed`)
  expect(bytes).toBeGreaterThan(1_000)
  expect(bytes).toBeLessThanOrEqual(COMPRESSED_BYTES_MAX)
})

test('both entries load by name in a plain Node program, and work; nothing else of it can be imported', async () => {
  const program = `
    import { createHmac } from 'node:crypto'
    import * as sdk from 'paylink-sdk'
    import * as webhooks from 'paylink-sdk/webhooks'
    const body = '{"id":"evt_1","schema_version":1,"event_type":"invoice.paid","data":{"id":"inv_1","status":"paid"}}'
    const t = Math.floor(Date.now() / 1000)
    const v1 = createHmac('sha256', 'whsec_x').update(t + '.' + body).digest('hex')
    const headers = { 'paylink-signature': 't=' + t + ',v1=' + v1, 'paylink-event-id': 'evt_1', 'paylink-version': '1' }
    const paylink = new sdk.Paylink({ apiKey: 'sk_test_x', baseUrl: 'http://127.0.0.1:9', maxRetries: 0 })
    const error = await paylink.invoices.list().page().catch((error) => error)
    console.log(Object.keys(webhooks).sort().join(' '), webhooks.verify(body, headers, 'whsec_x').data.status, error.name)`
  await writeFile(join(shop, 'shop.js'), program)
  expect((await run(process.execPath, ['shop.js'], { cwd: shop })).stdout).toBe(
    'UnsupportedSchemaVersion WebhookRejected verify paid ConnectionError\n',
  )
  await writeFile(join(shop, 'deep.js'), `import 'paylink-sdk/dist/send.js'`)
  await expect(run(process.execPath, ['deep.js'], { cwd: shop })).rejects.toThrow(
    /ERR_PACKAGE_PATH_NOT_EXPORTED/,
  )
})

test.each([
  '--target es2023 --lib es2023,dom --module nodenext',
  '--target es2022 --lib es2022,dom --module node16 --moduleResolution node16',
  '--target es2022 --lib es2022,dom --module esnext --moduleResolution bundler',
])(
  'its types hold in a strict program that knows nothing of this repository, with %s',
  async (resolution) => {
    const program = `
    import { ApiError, type Invoice, Paylink } from 'paylink-sdk'
    import { type InvoiceEvent, UnsupportedSchemaVersion, verify, WebhookRejected } from 'paylink-sdk/webhooks'
    const paylink = new Paylink({ apiKey: 'sk_test_x', baseUrl: 'http://127.0.0.1:9' })
    export async function sell(): Promise<string> {
      const invoice: Invoice = await paylink.invoices.create({ usd_amount: '49.99', asset: 'BTC', metadata: { cart: 1 } })
      for await (const { asset, status } of paylink.invoices.list({ status: 'paid', limit: 50 })) asset satisfies string
      return invoice.checkout_url
    }
    export function receive(body: Uint8Array, headers: Headers): string | null {
      try {
        const event = verify(body, headers, ['whsec_1', 'whsec_2'], { toleranceSeconds: 300 })
        if (event.kind === 'endpoint_verification') return event.data.challenge
        if (event.kind === 'payout') return event.data.txid
        return event.kind === 'invoice' && event.event_type === 'invoice.paid' ? event.data.external_reference : null
      } catch (error) {
        if (error instanceof WebhookRejected) return error.code
        if (error instanceof UnsupportedSchemaVersion) return String(error.schemaVersion)
        throw error
      }
    }
    export const isConflict = (error: unknown) => error instanceof ApiError && error.code === 'order_reference_conflict'
    // What \`Headers\` are by \`lib: dom\` alone before TypeScript 6.
    export const older = (body: string, headers: Pick<Headers, 'get' | 'has'>) => verify(body, headers, 'whsec_x')
    // Each of these is a mistake, and is told.
    // @ts-expect-error
    paylink.invoices.create({ usd_amount: 49.99 })
    // @ts-expect-error
    paylink.invoices.create({ usd_amount: '49.99', asset: 'DOGE' })
    // @ts-expect-error
    paylink.invoices.list({ state: 'paid' })
    // @ts-expect-error
    export const link = (body: string, headers: Headers) => (verify(body, headers, 'whsec_x') as InvoiceEvent).data.checkout_url
    // @ts-expect-error
    export const wrong = (error: ApiError) => error.code === 'no_such_code'
  `
    await writeFile(join(shop, 'typed.ts'), program)
    const options = [
      '--strict',
      '--noEmit',
      '--skipLibCheck',
      'false',
      '--types',
      '',
      ...resolution.split(' '),
    ]
    const compiled = await run(join(ROOT, 'node_modules/.bin/tsc'), [...options, 'typed.ts'], {
      cwd: shop,
    }).catch((error: { stdout: string }) => error)
    expect(compiled.stdout).toBe('')
  },
)

test('every program of its guide is accepted by the compiler, with a handler typed as the guide says', async () => {
  const guide = await readFile(join(installed, 'README.md'), 'utf8')
  const snippets = [...guide.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, snippet = '']) => snippet)
  expect(snippets).toHaveLength(5)
  // What the guide leaves to the shop.
  const given = `
    import { Paylink, type CreateInvoice } from 'paylink-sdk'
    declare global {
      const paylink: Paylink
      const order: CreateInvoice
      const process: { env: { [name: string]: string | undefined } }
      function markPaid(invoice: import('paylink-sdk/webhooks').InvoiceSnapshot): Promise<void>
      function offerAnotherCoin(): Promise<void>
    }`
  await writeFile(join(shop, 'given.ts'), given)
  const files = await Promise.all(
    snippets.map(async (snippet, at) => {
      const whole = snippet.replaceAll('…', '{}').replaceAll('{ {} }', '{}')
      const isFunction = /export async function/.test(whole)
      const body = isFunction || !/\breturn\b/.test(whole) ? whole : inFunction(whole)
      await writeFile(join(shop, `guide-${at}.ts`), `${body}\nexport {}`)
      return `guide-${at}.ts`
    }),
  )
  const options = ['--strict', '--noEmit', '--types', '', '--target', 'es2023', '--lib', 'es2023,dom']
  const compiled = await run(
    join(ROOT, 'node_modules/.bin/tsc'),
    [...options, '--module', 'nodenext', 'given.ts', ...files],
    { cwd: shop },
  ).catch((error: { stdout: string }) => error)
  expect(compiled.stdout).toBe('')
})

/** A piece of a handler: its imports, and the rest as that handler's body. */
function inFunction(snippet: string): string {
  const lines = snippet.split('\n')
  const imports = lines.filter((line) => line.startsWith('import '))
  const rest = lines.filter((line) => !line.startsWith('import '))
  return `${imports.join('\n')}\nexport async function handle(): Promise<void> {\n${rest.join('\n')}\n}`
}
