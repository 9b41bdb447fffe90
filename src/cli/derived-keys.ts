import { loadProcessConfig } from '../config/config.ts'
import { deliveryKeyOf, openKeyring } from '../secrets/keyring.ts'
import { watcherKeyOf } from '../secrets/outcome-key.ts'
import { readSecretKey, secretKeyPath } from '../secrets/secret-key.ts'
import type { Output } from './command-context.ts'
import { UsageError } from './usage-error.ts'

/** `paylink delivery-key`: prints what delivery workers take in place of the secret key. */
export const deliveryKeyCommand = (output: Output): Promise<number> => printDerived(output, deliveryKeyOf)

/** `paylink watcher-key`: prints what watchers take in place of the secret key. */
export const watcherKeyCommand = (output: Output): Promise<number> =>
  printDerived(output, (secret) => watcherKeyOf(openKeyring(secret)))

async function printDerived(output: Output, derive: (secretKey: Uint8Array) => Buffer): Promise<number> {
  const { dataDir, secretKey } = loadProcessConfig()
  const key = await readSecretKey(dataDir, secretKey)
  if (key === null) {
    throw new UsageError(
      `there is no key yet: set SECRET_KEY, or start once to have ${secretKeyPath(dataDir)} made`,
    )
  }
  output.line(derive(key).toString('hex'))
  return 0
}
