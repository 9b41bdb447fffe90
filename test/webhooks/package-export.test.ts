import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'

/** `paylink/webhooks` as a merchant's server has it: installed as a package, without the rest of ours. */

const run = promisify(execFile)
const ROOT = new URL('../..', import.meta.url).pathname
const TSC = join(ROOT, 'node_modules/typescript/bin/tsc')

let shop: string
beforeAll(async () => {
  shop = await mkdtemp(join(tmpdir(), 'paylink-shop-'))
  await mkdir(join(shop, 'node_modules/@types'), { recursive: true })
  await symlink(ROOT, join(shop, 'node_modules/paylink'))
  await symlink(join(ROOT, 'node_modules/@types/node'), join(shop, 'node_modules/@types/node'))
  await writeFile(join(shop, 'package.json'), '{"type":"module"}')
})
afterAll(() => rm(shop, { recursive: true, force: true }))

test('a server imports verify and its two errors, and they work', async () => {
  const script = `
    import { createHmac } from 'node:crypto'
    import * as webhooks from 'paylink/webhooks'
    const body = '{"id":"evt_1","schema_version":1,"event_type":"invoice.paid","data":{"id":"inv_1","status":"paid"}}'
    const t = Math.floor(Date.now() / 1000)
    const v1 = createHmac('sha256', 'whsec_x').update(t + '.' + body).digest('hex')
    const headers = { 'paylink-signature': 't=' + t + ',v1=' + v1, 'paylink-event-id': 'evt_1', 'paylink-version': '1' }
    console.log(Object.keys(webhooks).sort().join(' '), webhooks.verify(body, headers, 'whsec_x').data.status)`
  await writeFile(join(shop, 'server.js'), script)
  const { stdout } = await run(process.execPath, ['server.js'], { cwd: shop })
  expect(stdout).toBe('UnsupportedSchemaVersion WebhookRejected verify paid\n')
})

test('nothing else of the package can be imported', async () => {
  await writeFile(join(shop, 'deep.js'), `import 'paylink/dist/config.js'`)
  await expect(run(process.execPath, ['deep.js'], { cwd: shop })).rejects.toThrow(
    /ERR_PACKAGE_PATH_NOT_EXPORTED/,
  )
})

test('a typed server narrows events, and its compiler refuses what is not there', async () => {
  const server = (wrong: string) => `
    import type { IncomingMessage } from 'node:http'
    import { type Invoice, UnsupportedSchemaVersion, verify, WebhookRejected } from 'paylink/webhooks'
    export function receive(body: Buffer, request: IncomingMessage): Invoice | string | null {
      try {
        const event = verify(body, request.headers, ['whsec_1', 'whsec_2'], { toleranceSeconds: 300 })
        if (event.kind === 'endpoint_verification') return event.data.challenge
        if (event.kind === 'invoice' && event.event_type === 'invoice.paid') return event.data${wrong}
        return null
      } catch (error) {
        if (error instanceof WebhookRejected) return error.code
        if (error instanceof UnsupportedSchemaVersion) return String(error.schemaVersion)
        throw error
      }
    }
    export const receiveFetch = (body: string, request: Request) => verify(body, request.headers, 'whsec_1')`
  const check = async (wrong: string) => {
    await writeFile(join(shop, 'server.ts'), server(wrong))
    const options = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2023', '--types', 'node']
    return run(process.execPath, [TSC, ...options, 'server.ts'], { cwd: shop })
  }
  await check('')
  await expect(check('.challenge')).rejects.toMatchObject({ stdout: expect.stringContaining('TS2339') })
})
