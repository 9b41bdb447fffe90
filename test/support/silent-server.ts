import { createServer, type Socket } from 'node:net'

export type SilentServer = {
  readonly port: number
  /** Taken so far. */
  readonly connections: () => number
  close(): Promise<void>
}

/** Takes every connection, reads what comes, and never answers. */
export async function startSilentServer(): Promise<SilentServer> {
  const sockets = new Set<Socket>()
  let connections = 0
  const server = createServer((socket) => {
    connections += 1
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    // Whoever hangs up on it is right.
    socket.on('error', () => {})
    socket.resume()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the server has no port')
  return {
    port: address.port,
    connections: () => connections,
    close: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
