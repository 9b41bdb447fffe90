import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { AnvilProcess } from '../../src/sandbox/evm/anvil-process.ts'

test('a program that answers at its port and is not the anvil that was started is not taken for it', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'paylink-stranger-'))
  const stranger = join(folder, 'stranger')
  const answer = JSON.stringify({ jsonrpc: '2.0', id: 1, result: '0x1' })
  const script = `#!${process.execPath}
const port = process.argv[process.argv.indexOf('--port') + 1]
require('node:http').createServer((request, response) => response.end('${answer}')).listen(port, '127.0.0.1')
setTimeout(() => process.exit(1), 1000)
`
  await writeFile(stranger, script, { mode: 0o755 })
  try {
    await expect(AnvilProcess.start(stranger, [], folder)).rejects.toThrow('anvil did not start')
  } finally {
    await rm(folder, { recursive: true })
  }
})
