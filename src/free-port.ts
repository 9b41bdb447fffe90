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

/** A TCP port of 127.0.0.1 that was free a moment ago. */
export const freePort = (): Promise<number> => listenOn(0)

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
