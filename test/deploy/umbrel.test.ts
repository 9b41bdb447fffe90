import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { loadConfig } from '../../src/config/config.ts'
import { RECEIPT_KEYS_PATH } from '../../src/http/public/receipts.ts'
import { isBuyersPath } from '../../src/web/checkout/app.ts'
import { readRootFile } from '../support/root-file.ts'

/** deploy/umbrel, held to what Umbrel publishes of its manifests: github.com/getumbrel/umbrel-apps, its README. */

const FOLDER = 'deploy/umbrel/paylink'

/** As umbrelOS reads it: packages/umbreld/source/modules/apps/schema.ts of github.com/getumbrel/umbrel. */
const manifestShape = z.strictObject({
  manifestVersion: z.union([z.literal(1), z.literal(1.1), z.literal(1.2)]),
  id: z.string().regex(/^[a-z][a-z0-9-]*$/),
  name: z.string().min(1),
  tagline: z.string().min(1).max(100),
  icon: z.url(),
  category: z.literal([
    'ai',
    'automation',
    'bitcoin',
    'crypto',
    'developer',
    'files',
    'finance',
    'media',
    'networking',
    'social',
  ]),
  version: z.string().min(1),
  port: z.int().min(1_024).max(65_535),
  description: z.string().min(1),
  developer: z.string().min(1),
  website: z.url(),
  submitter: z.string().min(1),
  submission: z.url(),
  repo: z.url(),
  support: z.url(),
  gallery: z.array(z.string()),
  releaseNotes: z.string(),
  dependencies: z.array(z.string()),
  path: z.string(),
  defaultUsername: z.string(),
  defaultPassword: z.string(),
})
const composeShape = z.strictObject({
  version: z.literal('3.7'),
  services: z.strictObject({
    app_proxy: z.strictObject({
      environment: z.strictObject({
        APP_HOST: z.string(),
        APP_PORT: z.number(),
        PROXY_AUTH_WHITELIST: z.string(),
      }),
    }),
    server: z.looseObject({
      image: z.string(),
      user: z.literal('1000:1000'),
      read_only: z.literal(true),
      cap_drop: z.tuple([z.literal('ALL')]),
      volumes: z.array(z.string()),
      environment: z.record(z.string(), z.string()),
    }),
  }),
})

const readYaml = async (name: string): Promise<unknown> => parse(await readRootFile(`${FOLDER}/${name}`))
const readManifest = async () => manifestShape.parse(await readYaml('umbrel-app.yml'))
const readServices = async () => composeShape.parse(await readYaml('docker-compose.yml')).services

test("the manifest has what Umbrel's has, and the version of the program", async () => {
  const manifest = await readManifest()
  const { version } = z
    .looseObject({ version: z.string() })
    .parse(JSON.parse(await readRootFile('package.json')))
  expect(manifest.version).toBe(version)
  expect((await readServices()).server.image).toMatch(new RegExp(`/${manifest.id}:${version}$`))
})

test('the service starts with the variables that it is given', async () => {
  const { id, port } = await readManifest()
  const { app_proxy, server } = await readServices()
  expect(app_proxy.environment.APP_HOST).toBe(`${id}_server_1`)
  const given: { [name: string]: string } = { DEVICE_DOMAIN_NAME: 'umbrel.local', APP_SEED: 'ab'.repeat(32) }
  const env = Object.fromEntries(
    Object.entries(server.environment).map(([name, value]) => [
      name,
      value.replace(/\$\{(\w+)\}/g, (_, variable: string) => given[variable] ?? ''),
    ]),
  )
  // As the image sets it.
  const config = loadConfig({ HOST: '0.0.0.0', PORT: '3000', ...env })
  expect(config).toMatchObject({
    baseUrl: `http://umbrel.local:${port}`,
    port: app_proxy.environment.APP_PORT,
    sandbox: true,
    signUp: 'open',
  })
  expect(server.volumes).toEqual([expect.stringMatching(/:\/data$/)])
  expect(config.dataDir).toBe('/data')
})

test("buyers, shops and card providers need no password of Umbrel's, and signing up does", async () => {
  const open = (await readServices()).app_proxy.environment.PROXY_AUTH_WHITELIST.split(',')
  const isOpen = (path: string) =>
    open.some((pattern) => (pattern.endsWith('*') ? path.startsWith(pattern.slice(0, -1)) : path === pattern))
  for (const path of ['/i/token', '/i/token/card', '/l/link', '/u/token', '/logo/mer_x/y.webp', '/embed.js'])
    expect([path, isBuyersPath(path), isOpen(path)]).toEqual([path, true, true])
  for (const path of ['/api/v1/invoices', '/onramp/moonpay/webhook', RECEIPT_KEYS_PATH])
    expect([path, isOpen(path)]).toEqual([path, true])
  for (const path of [
    '/',
    '/dashboard/',
    '/dashboard/sign-up',
    '/api/auth/sign-up/email',
    '/readyz',
    '/audit',
  ])
    expect([path, isOpen(path)]).toEqual([path, false])
})
