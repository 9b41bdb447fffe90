import { loadProcessConfig } from '../config/config.ts'
import { deliveryKeyOf } from '../secrets/keyring.ts'
import { readSecretKey, secretKeyPath } from '../secrets/secret-key.ts'
import type { Output } from './command-context.ts'
import { UsageError } from './usage-error.ts'

/** `paylink delivery-key`: prints what delivery workers take in place of the secret key. */
export async function deliveryKeyCommand(output: Output): Promise<number> {
  const { dataDir, secretKey } = loadProcessConfig()
  const key = await readSecretKey(dataDir, secretKey)
  if (key === null) {
    throw new UsageError(
      `there is no key yet: set SECRET_KEY, or start once to have ${secretKeyPath(dataDir)} made`,
    )
  }
  output.line(deliveryKeyOf(key).toString('hex'))
  return 0
}
