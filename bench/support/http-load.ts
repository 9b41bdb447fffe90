import { connect, type Socket } from 'node:net'

export type LoadResult = {
  /** Answers with status 2xx per second. */
  readonly perSecond: number
  readonly latenciesMs: readonly number[]
  /** Answers by status code. */
  readonly statuses: ReadonlyMap<number, number>
}

/**
 * Drives an HTTP/1.1 server over so many kept-alive connections, one request at a time on each. Written on bare
 * sockets so that the load takes as little of the machine as it can. With `perSecond`, requests start on a
 * fixed schedule instead of as soon as the last one is answered.
 */
export async function driveHttp(options: {
  port: number
  connections: number
  durationMs: number
  perSecond?: number
  request: (count: number) => string
}): Promise<LoadResult> {
  const latenciesMs: number[] = []
  const statuses = new Map<number, number>()
  const startedAt = performance.now()
  const endsAt = startedAt + options.durationMs
  const intervalMs = options.perSecond === undefined ? 0 : 1000 / options.perSecond
  let count = 0

  const drive = async (): Promise<void> => {
    const socket = await open(options.port)
    try {
      while (performance.now() < endsAt) {
        const number = count++
        const plannedAt = startedAt + number * intervalMs
        if (intervalMs > 0) await until(plannedAt)
        const begunAt = intervalMs > 0 ? plannedAt : performance.now()
        const status = await exchange(socket, options.request(number))
        latenciesMs.push(performance.now() - begunAt)
        statuses.set(status, (statuses.get(status) ?? 0) + 1)
      }
    } finally {
      socket.destroy()
    }
  }
  await Promise.all(Array.from({ length: options.connections }, drive))
  const seconds = (performance.now() - startedAt) / 1000
  const successes = [...statuses].reduce((sum, [status, n]) => (status < 300 ? sum + n : sum), 0)
  return { perSecond: successes / seconds, latenciesMs, statuses }
}

function open(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    socket.once('error', reject)
    socket.once('connect', () => resolve(socket))
  })
}

async function until(time: number): Promise<void> {
  const waitMs = time - performance.now()
  if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs))
}

/** Sends one request and reads one answer that has a content-length; resolves to its status. */
function exchange(socket: Socket, request: string): Promise<number> {
  return new Promise((resolve, reject) => {
    let received = ''
    const onData = (chunk: Buffer): void => {
      received += chunk.toString('latin1')
      const headEnd = received.indexOf('\r\n\r\n')
      if (headEnd < 0) return
      const length = /\r\ncontent-length: *(\d+)/i.exec(received.slice(0, headEnd))?.[1]
      if (length === undefined) finish(new Error('an answer without content-length'))
      else if (received.length >= headEnd + 4 + Number(length)) finish(Number(received.slice(9, 12)))
    }
    const onClose = (): void => finish(new Error('the server closed the connection'))
    const finish = (result: number | Error): void => {
      socket.off('data', onData)
      socket.off('close', onClose)
      if (typeof result === 'number') resolve(result)
      else reject(result)
    }
    socket.on('data', onData)
    socket.on('close', onClose)
    socket.write(request)
  })
}
