import { expect, test } from 'vitest'
import { makeDataDir, startRoles } from '../support/app.ts'
import { createTestDatabase } from '../support/database.ts'
import { freePort } from '../support/free-port.ts'
import { startSilentServer } from '../support/silent-server.ts'

test('once a live network is configured sign-up is closed, and the start says so', async () => {
  const place = await makeDataDir()
  const database = await createTestDatabase()
  const node = await startSilentServer()
  const port = String(await freePort())
  const program = await startRoles(['api'], {
    DATA_DIR: place.dataDir,
    DATABASE_URL: database.ownerUrl,
    API_DATABASE_URL: database.urls.api,
    PORT: port,
    LIVE_LITECOIN_RPC_URL: `http://u:p@127.0.0.1:${node.port}`,
  })
  expect(program.stdout()).toContain(
    'sign-up is closed (SIGN_UP=closed): make shops and their owners with paylink merchant create',
  )
  const answer = await fetch(`http://127.0.0.1:${port}/api/auth/sign-up/email`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: `http://localhost:${port}` },
    body: JSON.stringify({ name: 'A', email: 'a@shop.example', password: 'correct horse battery' }),
  })
  expect([answer.status, await answer.json()]).toEqual([
    403,
    expect.objectContaining({ code: 'SIGN_UP_CLOSED' }),
  ])
  await program.stop()
  await node.close()
  await database.drop()
  await place.remove()
})
