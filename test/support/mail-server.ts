import { createServer, type Socket } from 'node:net'

/**
 * A mail server that refuses the first connection for now, answers each after it, and notes who is written to. It takes
 * nothing for `.full.example` for now.
 */
export async function startMailServer() {
  const addressees: string[] = []
  /** Everything that was sent as a message, a line each. */
  const lines: string[] = []
  let connections = 0
  const serve = (socket: Socket): void => {
    connections += 1
    if (connections === 1) return void socket.end('421 busy\r\n')
    let isBody = false
    socket.on('error', () => {})
    socket.on('data', (chunk) => {
      for (const line of chunk
        .toString()
        .split('\r\n')
        .filter((text) => text !== '')) {
        if (isBody && line !== '.') {
          lines.push(line)
          continue
        }
        const addressee = /^RCPT TO:<(.*)>/.exec(line)?.[1]
        if (addressee !== undefined) addressees.push(addressee)
        isBody = line === 'DATA'
        if (addressee?.endsWith('.full.example') === true) socket.write('451 later\r\n')
        else socket.write(isBody ? '354 go on\r\n' : '250 ok\r\n')
      }
    })
    socket.write('220 mail\r\n')
  }
  const server = createServer(serve)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the server has no port')
  return { url: `smtp://127.0.0.1:${address.port}`, addressees, lines, close: () => server.close() }
}
