import { connect, createServer, type Socket } from 'node:net'

export type TcpProxy = {
  readonly port: number
  /** From now on nothing passes and nothing is closed, as when a cable is pulled. New connections are taken and hang. */
  cut(): void
  /** Sends new connections to another server; those that were cut stay so. */
  aim(port: number): void
  close(): Promise<void>
}

/** Stands before a server of this machine, and can be cut without either side being told. */
export async function startTcpProxy(target: number): Promise<TcpProxy> {
  const sockets = new Set<Socket>()
  let aimedAt = target
  let isCut = false
  const cutOff = new WeakSet<Socket>()
  const join = (client: Socket) => {
    const server = connect(aimedAt, '127.0.0.1')
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const) {
      sockets.add(one)
      one.setNoDelay(true)
      one.on('error', () => other.destroy())
      one.on('close', () => {
        sockets.delete(one)
        if (!cutOff.has(one)) other.destroy()
      })
      one.pipe(other)
      if (isCut) one.pause()
    }
  }
  const listener = createServer({ noDelay: true }, join)
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  const address = listener.address()
  if (address === null || typeof address === 'string') throw new Error('the proxy has no port')
  return {
    port: address.port,
    cut: () => {
      isCut = true
      for (const socket of sockets) {
        cutOff.add(socket)
        socket.unpipe().pause()
      }
    },
    aim: (port) => {
      aimedAt = port
      isCut = false
    },
    close: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => listener.close(resolve))
    },
  }
}
