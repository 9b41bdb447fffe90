import { generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import { join } from 'node:path'
import { addressWriter } from '../../src/chain/address-text.ts'
import { addressBatchMessage, addressesOf } from '../../src/core/address-batch.ts'
import { writeAddressKeys } from '../../src/secrets/address-keys.ts'
import type { TestDatabase } from '../../test/support/database.ts'

const KEYSPACE = 'litecoin-test'
const BATCH = 50

/**
 * A pool of Litecoin's test addresses, signed as the signer signs them, whose key the processes on `dataDir` know. What
 * is measured is whoever gives them out: deriving them is another figure. They are numbered from `first` on.
 */
export async function createSignedPool(dataDir: string, first = 0) {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const key = Buffer.from(publicKey.export({ format: 'jwk' }).x ?? '', 'base64url')
  await writeAddressKeys(join(dataDir, 'address-keys.json'), new Map([[KEYSPACE, key]]))
  const write = addressWriter(KEYSPACE, 'regtest')
  let next = first
  return {
    async fill({ owner }: TestDatabase, count: number): Promise<void> {
      for (const end = next + count; next < end; next += BATCH) {
        const batch = { keyspace: KEYSPACE, first: next, addresses: randomBytes(20 * BATCH) } as const
        const addresses = addressesOf(batch)
        await owner.query(
          `insert into address_batch (keyspace, first, programs, signature, created_at, taken_at)
           values ($1, $2, $3, $4, now(), now())`,
          [KEYSPACE, next, batch.addresses, sign(null, addressBatchMessage(batch), privateKey)],
        )
        await owner.query(
          `insert into address (keyspace, idx, program, address, parameters, created_at)
           select $1, $2 + place - 1, program, address, 'regtest', now()
           from unnest($3::bytea[], $4::text[]) with ordinality as derived (program, address, place)`,
          [KEYSPACE, next, addresses, addresses.map(write)],
        )
      }
      await owner.query('vacuum analyze')
    },
  }
}

/** The rows that say that Litecoin's test network is followed: here nothing follows it. */
export async function openNetwork({ owner }: TestDatabase): Promise<void> {
  await owner.query(
    `insert into account_key (keyspace, path, created_at) values ('litecoin-test', 'm', now()) on conflict do nothing`,
  )
  await owner.query(
    `insert into network_state (network, parameters, height, hash, tip_height, status, updated_at)
     values ('litecoin-test', 'regtest', 1, 'aa', 1, 'ok', now())`,
  )
  await owner.query(
    `insert into network_watch (network, keyspace, through, updated_at)
     values ('litecoin-test', 'litecoin-test', 1000000000, now())`,
  )
}
