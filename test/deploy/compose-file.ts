import { parse } from 'yaml'
import { z } from 'zod'
import { readRootFile } from '../support/root-file.ts'

const serviceShape = z.looseObject({
  image: z.string().optional(),
  command: z.array(z.string()).optional(),
  environment: z.record(z.string(), z.string()).default({}),
  volumes: z.array(z.string()).default([]),
  tmpfs: z.array(z.string()).default([]),
  networks: z.array(z.string()).default([]),
  ports: z.array(z.string()).default([]),
  secrets: z.array(z.string()).default([]),
  read_only: z.boolean().default(false),
  cap_drop: z.array(z.string()).default([]),
  security_opt: z.array(z.string()).default([]),
  user: z.string().optional(),
  privileged: z.boolean().default(false),
  network_mode: z.string().optional(),
  restart: z.string().optional(),
  mem_limit: z.string().optional(),
  logging: z.object({ driver: z.string(), options: z.record(z.string(), z.string()) }).optional(),
  deploy: z.object({ replicas: z.number() }).default({ replicas: 1 }),
  depends_on: z.record(z.string(), z.object({ condition: z.string() })).default({}),
  healthcheck: z.object({ test: z.array(z.string()).optional(), disable: z.boolean().optional() }).optional(),
})
export type ComposeService = z.output<typeof serviceShape>

const composeShape = z.looseObject({
  services: z.record(z.string(), serviceShape),
  secrets: z.record(z.string(), z.object({ file: z.string() })),
  networks: z.record(z.string(), z.object({ internal: z.boolean().optional() }).nullable()),
  volumes: z.record(z.string(), z.null()),
})

/** compose.yaml as Docker reads it, with the variables of an `.env` put in. Throws where one that it demands is absent. */
export async function readCompose(env: { readonly [name: string]: string }) {
  const tree: unknown = parse(await readRootFile('compose.yaml'), { merge: true })
  return composeShape.parse(interpolated(tree, env))
}

/** Every text of the tree with `${NAME}`, `${NAME:-default}` and `${NAME:?message}` as the Compose specification has them. */
function interpolated(tree: unknown, env: { readonly [name: string]: string }): unknown {
  if (typeof tree === 'string') return interpolate(tree, env)
  if (Array.isArray(tree)) return tree.map((each) => interpolated(each, env))
  if (typeof tree !== 'object' || tree === null) return tree
  return Object.fromEntries(Object.entries(tree).map(([name, each]) => [name, interpolated(each, env)]))
}

function interpolate(text: string, env: { readonly [name: string]: string }): string {
  return text.replace(
    /\$\{([A-Z][A-Z0-9_]*)(?::([-?])([^}]*))?\}/g,
    (_, name: string, kind = '', word = '') => {
      const value = env[name] ?? ''
      if (value !== '') return value
      if (kind === '?') throw new Error(`${name} is needed: ${word}`)
      return kind === '-' ? word : ''
    },
  )
}

/** The variables of an `.env` file. */
export function parseEnvFile(content: string): { [name: string]: string } {
  const lines = content.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  )
}
