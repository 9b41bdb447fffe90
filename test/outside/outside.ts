import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import { z } from 'zod'

/** An answer in the shape that a service documents, with made-up values. */
const recordedSchema = z.array(
  z.strictObject({
    name: z.string(),
    /** The page that shows or names this shape. */
    source: z.url({ protocol: /^https$/ }),
    /** When the answer was written after it. */
    written: z.iso.date(),
    status: z.int().min(200).max(599),
    body: z.unknown().optional(),
    /** In place of `body` where the answer is no JSON. */
    text: z.string().optional(),
  }),
)
export type Recorded = z.infer<typeof recordedSchema>[number]
type Question = { readonly method: string; readonly path: string; readonly body: string }
/** What the service answers to a question. */
export type Script = (question: Question) => Pick<Recorded, 'status' | 'body' | 'text'>

/** The recorded answers of one file, by name, and which of them no test has asked for. */
export function recordedAnswers(file: string) {
  const read = readFileSync(new URL(`recorded/${file}.json`, import.meta.url), 'utf8')
  const answers = new Map(recordedSchema.parse(JSON.parse(read)).map((each) => [each.name, each]))
  const unused = new Set(answers.keys())
  return {
    unused,
    answer: (name: string): Recorded => {
      const found = answers.get(name)
      if (found === undefined) throw new Error(`no recorded answer "${name}" in ${file}.json`)
      unused.delete(name)
      return found
    },
  }
}

/** A service of the outside on loopback, which answers as the script says. */
export async function startOutside() {
  let script: Script = () => ({ status: 500, text: 'no script' })
  const server = createServer(async (request: IncomingMessage, response) => {
    const chunks: Uint8Array[] = []
    for await (const chunk of request) chunks.push(chunk)
    const { method = 'GET', url: path = '/' } = request
    const { status, body, text } = script({ method, path, body: Buffer.concat(chunks).toString() })
    const type = body === undefined ? 'text/html' : 'application/json'
    response.on('error', () => {})
    response.writeHead(status, { 'content-type': type }).end(text ?? JSON.stringify(body))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return {
    url: `http://127.0.0.1:${address.port}`,
    host: `127.0.0.1:${address.port}`,
    /** From now on every question gets this answer, or what the script says. */
    give: (answer: Recorded | Script) => {
      script = typeof answer === 'function' ? answer : () => answer
    },
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
export type Outside = Awaited<ReturnType<typeof startOutside>>

/** A page of a megabyte, which no small answer is. */
export const HUGE = { status: 200, text: ' '.repeat(1024 * 1024) }
export const PAGE = { status: 200, text: '<html><body>Please wait…</body></html>' }
