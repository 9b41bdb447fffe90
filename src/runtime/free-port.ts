import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'
import { hasCode } from './data-dir.ts'

function listenOn(port: number): Promise<number> {
  const server = createServer()
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : port))
    })
  })
}

/** Below the ports that systems give to outgoing connections, which could take one between its choice and its use. */
const PORT_MIN = 20_240
const PORT_MAX = 32_000
const ATTEMPTS_MAX = 50

/** A TCP port of 127.0.0.1 that was free a moment ago. */
export async function freePort(): Promise<number> {
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
    const port = randomInt(PORT_MIN, PORT_MAX)
    if (await isFreePort(port)) return port
  }
  throw new Error(`none of ${ATTEMPTS_MAX} ports of 127.0.0.1 is free`)
}

/** Whether a TCP port of 127.0.0.1 was free a moment ago. */
export async function isFreePort(port: number): Promise<boolean> {
  try {
    await listenOn(port)
    return true
  } catch (error) {
    if (hasCode(error, 'EADDRINUSE') || hasCode(error, 'EACCES')) return false
    throw error
  }
}
