import { readFile } from 'node:fs/promises'
import { loadProcessConfig } from '../config/config.ts'
import { STAGING_NOTICE } from '../core/staging.ts'
import { parseStrictJson } from '../http/api/strict-json.ts'
import { StartRefused } from '../runtime/start-refused.ts'
import { openKeyring } from '../secrets/keyring.ts'
import {
  judgeReceipt,
  openReceiptKey,
  type PublicReceiptKey,
  type ReceiptVerdict,
  readPublicKeys,
} from '../secrets/receipt-key.ts'
import { readSecretKey } from '../secrets/secret-key.ts'
import type { Output } from './command-context.ts'
import { EXIT_FAILED } from './exit-codes.ts'
import { UsageError } from './usage-error.ts'

/** Larger than any receipt: one has at most 50 payments. */
const FILE_BYTES_MAX = 1_048_576
const REQUEST_TIMEOUT_MS = 10_000

/**
 * `paylink receipt verify FILE`: exit code 0 where the receipt is as it was signed, 1 where it is not. Offline with
 * a file of keys, or with the secret key of the installation that signed it.
 */
export async function verifyReceiptCommand(
  file: string,
  options: { readonly key?: string; readonly json: boolean },
  output: Output,
): Promise<number> {
  const keys = options.key === undefined ? await ownKeys() : await keysAt(options.key)
  const verdict = judgeReceipt(parseDocument(await readBytes(file), file), keys)
  if (options.json) output.line(JSON.stringify(toJson(verdict)))
  else if (verdict.kind === 'genuine') print(verdict.receipt, output)
  else output.problem(`${file}: ${faultOf(verdict)}`)
  return verdict.kind === 'genuine' ? 0 : EXIT_FAILED
}

async function ownKeys(): Promise<PublicReceiptKey[]> {
  const config = loadProcessConfig()
  const secret = await readSecretKey(config.dataDir, config.secretKey)
  if (secret !== null) return [openReceiptKey(openKeyring(secret)).publicKey]
  throw new UsageError(
    'there is no installation here to know the key of: give --key, the file or URL of /.well-known/paylink-receipts.json',
  )
}

async function keysAt(place: string): Promise<PublicReceiptKey[]> {
  const bytes = /^https?:\/\//.test(place) ? await download(place) : await readBytes(place)
  const keys = readPublicKeys(parseDocument(bytes, place))
  if (keys === null) throw new StartRefused(`${place} holds no keys of receipts`)
  return keys
}

async function download(url: string): Promise<Uint8Array> {
  try {
    const response = await fetch(url, { redirect: 'error', signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS) })
    if (!response.ok) throw new Error(`HTTP ${response.status}`)
    return new Uint8Array(await response.arrayBuffer())
  } catch (error) {
    throw new StartRefused(`${url} could not be read`, { cause: error })
  }
}

async function readBytes(path: string): Promise<Uint8Array> {
  try {
    return await readFile(path)
  } catch (error) {
    throw new StartRefused(`${path} could not be read: is the path right?`, { cause: error })
  }
}

/** One JSON object in which no name stands twice: two readers must not see two receipts in it. */
function parseDocument(bytes: Uint8Array, name: string): unknown {
  if (bytes.length > FILE_BYTES_MAX) throw new StartRefused(`${name} is too large for a receipt or its keys`)
  try {
    return parseStrictJson(bytes)
  } catch (error) {
    throw new StartRefused(`${name} is not one JSON object`, { cause: error })
  }
}

function faultOf(verdict: Exclude<ReceiptVerdict, { kind: 'genuine' }>): string {
  switch (verdict.kind) {
    case 'malformed':
      return `not a signed receipt: ${verdict.fault}`
    case 'unknown_key':
      return `signed with the key ${verdict.keyId}, which is not among the given keys: ask who issued it for theirs`
    default:
      return 'NOT genuine: it was changed after it was signed, or was never signed with this key'
  }
}

function toJson(verdict: ReceiptVerdict): object {
  if (verdict.kind === 'genuine') return { genuine: true, receipt: verdict.receipt }
  return { genuine: false, reason: verdict.kind, message: faultOf(verdict) }
}

function print(receipt: { readonly [field: string]: unknown }, output: Output): void {
  output.line('Genuine: every word is as it was signed.')
  if (receipt.staging === true) output.line(STAGING_NOTICE)
  if (receipt.livemode === false) output.line('TEST: no real money moved')
  for (const field of [
    'issuer',
    'invoice_id',
    'order_reference',
    'status',
    'usd_amount',
    'asset',
    'amount_paid',
    'paid_at',
  ]) {
    if (field === 'status' && receipt.description !== undefined)
      output.line(`  description: ${printable(receipt.description)}`)
    if (field === 'usd_amount' && isAmount(receipt.price))
      output.line(`  price: ${printable(receipt.price.amount)} ${printable(receipt.price.currency)}`)
    output.line(`  ${field}: ${printable(receipt[field])}`)
  }
}

const isAmount = (price: unknown): price is { readonly [field: string]: unknown } =>
  typeof price === 'object' && price !== null

/** A receipt is somebody else's text: nothing in it may steer a terminal. */
const printable = (value: unknown): string => String(value ?? '–').replace(/\p{C}/gu, '�')
