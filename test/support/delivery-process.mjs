// A delivery worker in a process of its own, to be killed and stopped. Runs the built program.

import { startDeliveryWorker } from '../../dist/delivery/worker.js'
import { openPool } from '../../dist/postgres/pool.js'
import { createLogger } from '../../dist/runtime/log.js'
import { openKeyring } from '../../dist/secrets/keyring.js'

const { databaseUrl, secretKey, concurrency } = JSON.parse(process.argv[2])
const pool = openPool({
  connectionString: databaseUrl,
  applicationName: 'paylink-delivery-test',
  max: 5,
  onError: () => {},
})
await startDeliveryWorker({
  pool,
  clock: () => new Date(),
  log: createLogger('error', 'stderr'),
  keyring: openKeyring(Buffer.from(secretKey, 'hex')),
  listenUrl: databaseUrl,
  allowPrivateTest: true,
  concurrency,
})
// With --expose-gc garbage is collected at once, so that what the system counts is what is held.
const COLLECT_EVERY_MS = 20
if (globalThis.gc !== undefined) setInterval(globalThis.gc, COLLECT_EVERY_MS)
process.stdout.write('ready\n')
