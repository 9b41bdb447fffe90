import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto'

/** Bytes of the secret key that everything else is derived from. */
export const SECRET_KEY_BYTES = 32

const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16
/** Which key sealed a value: a later key gets the next number, and older values stay readable. */
const KEY_ID = 1
const HEADER_BYTES = 1 + NONCE_BYTES
const SEAL = 'paylink/seal/1'
const MAC = (purpose: string): string => `paylink/mac/${purpose}`
const CHECK_PURPOSE = 'key check'
const CHECKED = Buffer.from('paylink')

/** The secrets of an installation, derived from one key. */
export type Keyring = {
  /**
   * Encrypts with AES-256-GCM: key id ‖ random nonce ‖ ciphertext ‖ tag. `context` says where the value
   * belongs, such as `endpoint_secret/<merchant>/<row id>`; the value opens only there.
   */
  seal(plaintext: Uint8Array, context: string): Buffer
  /** The plaintext of what `seal` made. Throws `SealBroken` where the bytes or the context are not the ones sealed. */
  open(sealed: Uint8Array, context: string): Buffer
  /** HMAC-SHA-256 under a key of its own for each purpose: 32 bytes. */
  mac(purpose: string, message: Uint8Array): Buffer
}

/** What a process gets that opens sealed values and makes none: it derives no other key of the installation. */
export type Opener = Pick<Keyring, 'open'>

/** A sealed value was changed, moved to another row, or sealed under another key. */
export class SealBroken extends Error {
  override name = 'SealBroken'
}

/** Derives the keyring from the installation's secret key of 32 bytes (HKDF-SHA-256, RFC 5869). */
export function openKeyring(secretKey: Uint8Array): Keyring {
  if (secretKey.length !== SECRET_KEY_BYTES) {
    throw new Error(`the secret key must be ${SECRET_KEY_BYTES} bytes, not ${secretKey.length}`)
  }
  const master = Buffer.from(secretKey)
  const sealingKey = derive(master, SEAL)
  const macKeys = new Map<string, Buffer>()
  return {
    seal: (plaintext, context) => seal(sealingKey, plaintext, context),
    open: (sealed, context) => open(sealingKey, sealed, context),
    mac: (purpose, message) => {
      // Purposes are a handful of constants of the program, so that the map stays small.
      const key = macKeys.get(purpose) ?? derive(master, MAC(purpose))
      macKeys.set(purpose, key)
      return createHmac('sha256', key).update(message).digest()
    },
  }
}

/** Bytes of a delivery key: the sealing key and the key of the check. */
export const DELIVERY_KEY_BYTES = 2 * KEY_BYTES

/**
 * The key for delivery workers, derived from the installation's secret key: it opens what is sealed and proves which
 * installation it belongs to. The secret key, and what signs approvals, links and sessions, do not follow from it.
 */
export function deliveryKeyOf(secretKey: Uint8Array): Buffer {
  const master = Buffer.from(secretKey)
  return Buffer.concat([derive(master, SEAL), derive(master, MAC(CHECK_PURPOSE))])
}

/** Opens a delivery key. `check` is `keyCheckOf` the keyring that it was derived from. */
export function openDeliveryKey(deliveryKey: Uint8Array): Opener & { readonly check: Buffer } {
  if (deliveryKey.length !== DELIVERY_KEY_BYTES) {
    throw new Error(`a delivery key must be ${DELIVERY_KEY_BYTES} bytes, not ${deliveryKey.length}`)
  }
  const sealingKey = Buffer.from(deliveryKey.subarray(0, KEY_BYTES))
  return {
    open: (sealed, context) => open(sealingKey, sealed, context),
    check: createHmac('sha256', deliveryKey.subarray(KEY_BYTES)).update(CHECKED).digest(),
  }
}

/** What the database keeps to know the installation's key again; it says nothing of the key itself. */
export const keyCheckOf = (keyring: Keyring): Buffer => keyring.mac(CHECK_PURPOSE, CHECKED)

function derive(master: Buffer, info: string): Buffer {
  return Buffer.from(hkdfSync('sha256', master, Buffer.alloc(0), info, KEY_BYTES))
}

function seal(key: Buffer, plaintext: Uint8Array, context: string): Buffer {
  const header = Buffer.concat([Buffer.of(KEY_ID), randomBytes(NONCE_BYTES)])
  const cipher = createCipheriv('aes-256-gcm', key, header.subarray(1))
  cipher.setAAD(additionalData(context))
  return Buffer.concat([header, cipher.update(plaintext), cipher.final(), cipher.getAuthTag()])
}

function open(key: Buffer, sealed: Uint8Array, context: string): Buffer {
  if (sealed.length < HEADER_BYTES + TAG_BYTES) throw new SealBroken('a sealed value is too short')
  const bytes = Buffer.from(sealed)
  if (bytes[0] !== KEY_ID) throw new SealBroken(`a sealed value names the unknown key ${bytes[0]}`)
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(1, HEADER_BYTES), {
    // Node takes shorter tags by default; a short tag is a guessable one.
    authTagLength: TAG_BYTES,
  })
  decipher.setAAD(additionalData(context))
  decipher.setAuthTag(bytes.subarray(bytes.length - TAG_BYTES))
  try {
    const start = decipher.update(bytes.subarray(HEADER_BYTES, bytes.length - TAG_BYTES))
    return Buffer.concat([start, decipher.final()])
  } catch (error) {
    throw new SealBroken(`a sealed value does not open as ${context}`, { cause: error })
  }
}

/** The key id is authenticated with the context, so that no value can be made to name another key. */
const additionalData = (context: string): Buffer => Buffer.from(`${KEY_ID}\n${context}`, 'utf8')
