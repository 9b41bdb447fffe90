import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { validate } from 'dockerfile-utils'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { loadConfig } from '../../src/config/config.ts'
import { programPath } from '../support/programs.ts'
import { readRootFile } from '../support/root-file.ts'
import { type ComposeService, parseEnvFile, readCompose } from './compose-file.ts'

/** Image, compose file and units, held to rules without Docker. compose.test.ts runs what they say. */

const run = promisify(execFile)
const MAKE_ENV = new URL('../../deploy/make-env.sh', import.meta.url).pathname
/** They answer nobody, by design: see their comments in compose.yaml. */
const WITHOUT_HEALTH_CHECK = ['migrate', 'signer', 'sandbox']
const EXPOSURE_MAX = 1.5

async function withEnv<Result>(
  work: (env: { [name: string]: string }, folder: string) => Promise<Result>,
): Promise<Result> {
  const folder = await mkdtemp(join(tmpdir(), 'paylink-env-'))
  try {
    const { stdout } = await run(MAKE_ENV, ['pay.example.com'], { env: { SIGNER_KEY_FOLDER: folder } })
    return await work(parseEnvFile(stdout), folder)
  } finally {
    await rm(folder, { recursive: true })
  }
}

const scrapeShape = z.looseObject({
  scrape_configs: z.array(
    z.looseObject({
      dns_sd_configs: z.array(z.looseObject({ names: z.array(z.string()), port: z.number() })),
    }),
  ),
})
const alertsShape = z.object({
  groups: z.array(
    z.looseObject({
      rules: z.array(
        z.strictObject({
          alert: z.string(),
          expr: z.string(),
          for: z.string().optional(),
          labels: z.strictObject({ severity: z.enum(['page', 'ticket']) }),
          annotations: z.strictObject({ summary: z.string() }),
        }),
      ),
    }),
  ),
})

const isOurs = (service: ComposeService) => service.image === 'paylink'

test('the Dockerfile is without a fault that the linter of Docker’s language server knows', async () => {
  expect(validate(await readRootFile('Dockerfile'))).toEqual([])
})

test('the image runs Node 24 as a user other than root, with a health check and without build-only parts', async () => {
  const lines = (await readRootFile('Dockerfile')).replaceAll('\\\n', ' ').split('\n')
  const runtime = lines.slice(lines.findLastIndex((line) => line.startsWith('FROM ')))
  expect(runtime[0]).toMatch(/^FROM node:24-/)
  expect(runtime.filter((line) => line.startsWith('USER '))).toEqual(['USER node'])
  // Nothing runs as root after that, and nothing is copied that its user could change.
  const afterUser = runtime.slice(runtime.indexOf('USER node') + 1)
  expect(afterUser.filter((line) => /^(RUN|COPY|ADD|USER)\b/.test(line))).toEqual([])
  expect(runtime.filter((line) => /--chown|^ADD/.test(line))).toEqual([])
  expect(runtime.some((line) => line.startsWith('HEALTHCHECK '))).toBe(true)
  expect(lines.some((line) => line.includes('npm prune --omit=dev'))).toBe(true)
})

test('what the Dockerfile copies is there or is built, and only what .dockerignore lets in', async () => {
  const [dockerfile, ignored] = await Promise.all([readRootFile('Dockerfile'), readRootFile('.dockerignore')])
  const allowed = ignored.split('\n').flatMap((line) => (line.startsWith('!') ? [line.slice(1)] : []))
  expect(ignored.split('\n').find((line) => line !== '' && !line.startsWith('#'))).toBe('*')
  const needed = [...dockerfile.matchAll(/\/app\/(LICENSE|package\.json|migrations|deploy\/[\w.-]+)/g)].map(
    ([, path]) => path ?? '',
  )
  expect(needed.filter((path) => !allowed.includes(path))).toEqual([])
  // Secrets lie beside compose.yaml and must stay there.
  expect(allowed.filter((path) => /env|key|data|^\.$/.test(path))).toEqual([])
})

test('compose.yaml runs PostgreSQL, two API processes, a watcher, two delivery workers and a signer', async () => {
  const { services } = await withEnv((env) => readCompose(env))
  const copies = (role: string) =>
    Object.values(services)
      .filter(({ command }) => command?.[0] === 'start' && command.includes(role))
      .reduce((sum, { deploy }) => sum + deploy.replicas, 0)
  expect(services.postgres?.image).toMatch(/^postgres:18/)
  const counts = ['api', 'checkout', 'watcher', 'delivery', 'signer', 'sandbox'].map(copies)
  expect(counts).toEqual([2, 2, 1, 2, 1, 1])
})

test('every container of ours has a read-only root, no capability, no way to new privileges, and limits', async () => {
  const { services } = await withEnv((env) => readCompose(env))
  const ours = Object.entries(services).filter(([, service]) => isOurs(service))
  expect(ours.map(([name]) => name).sort()).toEqual(
    ['api-1', 'api-2', 'delivery', 'migrate', 'sandbox', 'signer', 'watcher'].sort(),
  )
  for (const [name, service] of ours) {
    expect({ name, root: service.read_only, drop: service.cap_drop }).toEqual({
      name,
      root: true,
      drop: ['ALL'],
    })
    expect(service.security_opt).toContain('no-new-privileges:true')
    expect({ name, privileged: service.privileged, mode: service.network_mode }).toEqual({
      name,
      privileged: false,
      mode: undefined,
    })
    expect({ name, user: service.user, memory: service.mem_limit }).toEqual({
      name,
      user: undefined,
      memory: '1g',
    })
    expect(service.logging?.options['max-size']).toBeDefined()
    // DATA_DIR is written to: a volume or memory stands there.
    const writable = [...service.tmpfs, ...service.volumes].map(
      (mount) => mount.replace(/^[\w-]+:(?=\/)/, '').split(':')[0],
    )
    expect({ name, writable: writable.includes('/data') }).toEqual({ name, writable: true })
  }
})

test('every service that can be asked has a health check, and only the proxy is published', async () => {
  const { services, networks } = await withEnv((env) => readCompose(env))
  const unchecked = Object.entries(services).filter(([, { healthcheck }]) => healthcheck?.disable === true)
  expect(unchecked.map(([name]) => name).sort()).toEqual([...WITHOUT_HEALTH_CHECK].sort())
  const published = Object.entries(services).filter(([, { ports }]) => ports.length > 0)
  expect(published.map(([name]) => name)).toEqual(['proxy'])
  // Who serves the site is asked by the image's own check, whoever else by a check of figures on a port that it opens.
  for (const { command, healthcheck, environment } of Object.values(services).filter(isOurs)) {
    if (healthcheck?.test?.includes('figures') === true) expect(environment.OPERATOR_PORT).toBeDefined()
    else if (healthcheck === undefined) expect(command).toContain('api')
  }
  for (const name of ['front', 'database', 'sandbox']) expect(networks[name]?.internal).toBe(true)
})

test('the signer reaches the database alone, and nobody else is given its key, its login or its volume', async () => {
  const { services } = await withEnv((env) => readCompose(env))
  expect(services.signer?.networks).toEqual(['database'])
  for (const [name, { environment, secrets, volumes }] of Object.entries(services)) {
    if (name === 'signer') continue
    expect(secrets).toEqual([])
    expect(volumes.filter((volume) => volume.startsWith('signer:'))).toEqual([])
    expect(environment.SIGNER_KEY_FILE).toBeUndefined()
    // The migrations make its login, and never start its role.
    if (name !== 'migrate') expect(environment.SIGNER_DATABASE_URL).toBeUndefined()
  }
})

test('each role is given its own login and no other secret than it needs', async () => {
  const { services } = await withEnv((env) => readCompose(env))
  const roles = Object.entries(services).filter(([, { command }]) => command?.[0] === 'start')
  for (const [name, { environment }] of roles) {
    const logins = Object.keys(environment).filter((variable) => variable.endsWith('DATABASE_URL'))
    const own = name.startsWith('api') ? 'API' : name.toUpperCase()
    expect({ name, logins }).toEqual({ name, logins: name === 'sandbox' ? [] : [`${own}_DATABASE_URL`] })
    const hasKey = environment.SECRET_KEY !== undefined
    expect({ name, hasKey }).toEqual({ name, hasKey: name.startsWith('api') })
    const hasDeliveryKey = environment.DELIVERY_KEY !== undefined
    expect({ name, hasDeliveryKey }).toEqual({ name, hasDeliveryKey: name === 'delivery' })
    const hasWatcherKey = environment.WATCHER_KEY !== undefined
    expect({ name, hasWatcherKey }).toEqual({ name, hasWatcherKey: name === 'watcher' })
  }
})

test('every variable of compose.yaml is one that Paylink knows, with a value that it takes', async () => {
  const [{ services }, ...guides] = await Promise.all([
    withEnv((env) => readCompose(env)),
    ...['docs/operating.md', 'docs/card.md'].map(readRootFile),
  ])
  for (const { environment } of Object.values(services).filter(isOurs)) {
    loadConfig(environment)
    const known = (name: string) =>
      guides.some((guide) => guide.includes(`\`${name}\``)) ||
      /^(LIVE|TEST)_[A-Z]+_((RPC|ZMQ)_URL|GENESIS)$|_DATABASE_URL$/.test(name)
    expect(Object.keys(environment).filter((name) => !known(name))).toEqual([])
  }
})

test('compose.yaml demands its secrets: with none of them, or an empty one, it does not start', async () => {
  await withEnv(async (env) => {
    const secrets = Object.keys(env).filter((name) => /KEY|PASSWORD|DOMAIN/.test(name))
    expect(secrets).toHaveLength(7)
    for (const name of secrets)
      await expect(readCompose({ ...env, [name]: '' })).rejects.toThrow(`${name} is needed`)
  })
})

test('make-env.sh makes new secrets each time, and never replaces the signer’s key', async () => {
  await withEnv(async (first, folder) => {
    const key = await readFile(join(folder, 'signer-key'), 'utf8')
    expect(key).toMatch(/^[0-9a-f]{64}$/)
    const { stdout } = await run(MAKE_ENV, ['pay.example.com'], { env: { SIGNER_KEY_FOLDER: folder } })
    const second = parseEnvFile(stdout)
    for (const [name, value] of Object.entries(first)) {
      if (/KEY|PASSWORD/.test(name)) expect(second[name]).not.toBe(value)
    }
    expect(new Set(Object.values(first)).size).toBeGreaterThanOrEqual(7)
    expect(await readFile(join(folder, 'signer-key'), 'utf8')).toBe(key)
  })
})

test('make-env.sh says so where the containers’ user could not read the signer’s key', async () => {
  await withEnv(async (_env, folder) => {
    // Whoever runs it is, by turns, root, the containers' own user, and another one.
    const askedBy = async (uid: number) => {
      await writeFile(join(folder, 'id'), `#!/bin/sh\necho ${uid}\n`, { mode: 0o755 })
      await writeFile(join(folder, 'chown'), '#!/bin/sh\n', { mode: 0o755 })
      const env = { SIGNER_KEY_FOLDER: folder, PATH: `${folder}:${process.env.PATH}` }
      return (await run(MAKE_ENV, ['pay.example.com'], { env })).stderr
    }
    expect(await askedBy(0)).toBe('')
    expect(await askedBy(1000)).toBe('')
    expect(await askedBy(1001)).toContain(`sudo chown 1000:1000 ${folder}/signer-key`)
  })
})

test('the proxy asks exactly the API processes of compose.yaml', async () => {
  const [caddyfile, { services }] = await Promise.all([
    readRootFile('deploy/Caddyfile'),
    withEnv((env) => readCompose(env)),
  ])
  const upstreams = /reverse_proxy (.*) \{/.exec(caddyfile)?.[1]?.split(' ')
  const apis = Object.keys(services).filter((name) => services[name]?.command?.includes('api'))
  expect(upstreams).toEqual(apis.map((name) => `${name}:3000`))
})

test('Prometheus asks every process of compose.yaml that serves figures, and every alert has its advice', async () => {
  const [scrape, alerts, guide, { services }] = await Promise.all([
    readRootFile('deploy/prometheus/prometheus.yaml').then((text) => scrapeShape.parse(parse(text))),
    readRootFile('deploy/prometheus/alerts.yaml').then((text) => alertsShape.parse(parse(text))),
    readRootFile('docs/monitoring.md'),
    withEnv((env) => readCompose(env)),
  ])
  const asked = scrape.scrape_configs.flatMap(({ dns_sd_configs }) => dns_sd_configs)
  const serving = Object.keys(services).filter(
    (name) => services[name]?.environment.OPERATOR_PORT !== undefined,
  )
  expect(asked.flatMap(({ names }) => names).sort()).toEqual(serving.sort())
  // Asked from another container.
  for (const name of serving) expect(services[name]?.environment.OPERATOR_HOST).toBe('0.0.0.0')
  for (const { port } of asked) expect(services.watcher?.environment.OPERATOR_PORT).toBe(String(port))
  const rules = alerts.groups.flatMap((group) => group.rules)
  expect(rules.length).toBeGreaterThan(10)
  expect(rules.filter(({ alert }) => !guide.includes(`\`${alert}\``))).toEqual([])
})

test('Prometheus itself accepts its configuration and every alert', { tags: ['promtool'] }, async () => {
  const folder = new URL('../../deploy/prometheus/', import.meta.url).pathname
  const promtool = programPath('promtool')
  await run(promtool, ['check', 'rules', join(folder, 'alerts.yaml')])
  await run(promtool, ['check', 'config', '--syntax-only', join(folder, 'prometheus.yaml')])
})

test('the signer’s unit has a user of its own, and no unit reads the memory or environment of another', async () => {
  const units = new URL('../../deploy/systemd/', import.meta.url).pathname
  const users: { [unit: string]: string | undefined } = {}
  for (const name of (await readdir(units)).filter((each) => each.endsWith('.service'))) {
    const unit = await readFile(join(units, name), 'utf8')
    // Of processes in another user namespace Linux shows nothing to the same user, either (user_namespaces(7), ptrace(2)).
    for (const setting of ['PrivateUsers=yes', 'ProtectProc=invisible', 'CapabilityBoundingSet=\n'])
      expect(unit, name).toContain(`\n${setting}`)
    users[name] = /^User=(.*)$/m.exec(unit)?.[1]
  }
  const signer = users['paylink-signer.service']
  expect(Object.entries(users).filter(([, user]) => user === signer)).toHaveLength(1)
})

test('systemd accepts the units and finds next to nothing that they could lose', {
  tags: ['systemd-analyze'],
}, async () => {
  const units = new URL('../../deploy/systemd/', import.meta.url).pathname
  const names = await readdir(units)
  const folder = await mkdtemp(join(tmpdir(), 'paylink-units-'))
  try {
    for (const name of names) {
      const source = await readFile(join(units, name), 'utf8')
      // The programs of an installation are not on this machine; everything else is held to the rules.
      const unit = source.replace('/usr/bin/node', process.execPath).replaceAll(/^(User|Group)=.*$/gm, '')
      await writeFile(join(folder, name.replace('@.', '@3001.')), unit)
      await writeFile(join(folder, name.replace('@.', '@1.')), unit)
      await writeFile(join(folder, name.replace('@.', '@2.')), unit)
      await writeFile(join(folder, name.replace('@.', '@3002.')), unit)
    }
    const { stderr } = await systemdAnalyze(
      ['verify', '--man=no', ...(await readdir(folder)).map((name) => join(folder, name))],
      folder,
    )
    expect(stderr).toBe('')
    for (const name of names.filter((each) => each.endsWith('.service'))) {
      const { stdout } = await systemdAnalyze(
        ['security', '--offline=true', '--no-pager', join(units, name)],
        folder,
      )
      const exposure = Number(/Overall exposure level for \S+: ([\d.]+)/.exec(stdout)?.[1])
      expect({ name, exposed: exposure > EXPOSURE_MAX }).toEqual({ name, exposed: false })
    }
  } finally {
    await rm(folder, { recursive: true })
  }
})

const systemdAnalyze = (args: readonly string[], folder: string) =>
  run(programPath('systemd-analyze'), args, {
    env: { PATH: process.env.PATH, SYSTEMD_UNIT_PATH: `${folder}:`, SYSTEMD_COLORS: '0' },
  })
