import { createServer, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'

export type ScriptedCall = {
  readonly id: unknown
  readonly method: string
  readonly params: readonly unknown[]
}

export type ScriptedNode = {
  readonly url: string
  /** Requests so far, as they came. */
  readonly requests: string[]
  /** Requests whose sender has hung up before it was answered. */
  readonly given: () => number
  /** From now on requests are answered so. */
  answer(how: (calls: readonly ScriptedCall[], response: ServerResponse) => void): void
  close(): Promise<void>
}

/** What answers at the address of a node, word for word as a test says. */
export async function startScriptedNode(): Promise<ScriptedNode> {
  const requests: string[] = []
  let given = 0
  let how: Parameters<ScriptedNode['answer']>[0] = (_calls, response) => void response.end('{}')
  const server = createServer((request, response) => {
    response.once('close', () => {
      if (!response.writableFinished) given += 1
    })
    text(request).then(
      (body) => {
        requests.push(body)
        how([JSON.parse(body)].flat() as ScriptedCall[], response)
      },
      () => response.destroy(),
    )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the node has no port')
  return {
    url: `http://user:secret@127.0.0.1:${address.port}`,
    requests,
    given: () => given,
    answer: (next) => {
      how = next
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
