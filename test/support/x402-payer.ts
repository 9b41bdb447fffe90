import { randomBytes } from 'node:crypto'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'

/** EIP-3009. */
const TRANSFER = {
  TransferWithAuthorization: [
    { name: 'from', type: 'address' },
    { name: 'to', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'validAfter', type: 'uint256' },
    { name: 'validBefore', type: 'uint256' },
    { name: 'nonce', type: 'bytes32' },
  ],
} as const

export type Requirements = {
  readonly scheme: string
  readonly network: string
  readonly amount: string
  readonly asset: string
  readonly payTo: string
  readonly maxTimeoutSeconds: number
  readonly extra: { readonly name: string; readonly version: string }
}
type Hex = `0x${string}`

/** What a payer may sign otherwise than it is asked to. */
export type Changes = {
  readonly to?: string
  readonly value?: bigint
  readonly validAfter?: bigint
  readonly validBefore?: bigint
  readonly nonce?: Hex
  readonly chainId?: number
  readonly contract?: string
  readonly name?: string
  /** Says that it accepted these. */
  readonly accepted?: Partial<Requirements>
  /** Who signs in the payer's place. */
  readonly signer?: ReturnType<typeof privateKeyToAccount>
}

export const newPayer = () => privateKeyToAccount(generatePrivateKey())
export type Payer = ReturnType<typeof newPayer>

/** A payment header made by hand: the same as a client of the protocol makes it, but for the changes. */
export async function signPayment(
  payer: Payer,
  asked: Requirements,
  changes: Changes = {},
): Promise<{ readonly header: string; readonly nonce: Hex; readonly signature: Hex }> {
  const now = BigInt(Math.floor(Date.now() / 1_000))
  const nonce: Hex = changes.nonce ?? `0x${randomBytes(32).toString('hex')}`
  const message = {
    from: payer.address,
    to: (changes.to ?? asked.payTo) as Hex,
    value: changes.value ?? BigInt(asked.amount),
    validAfter: changes.validAfter ?? now - 600n,
    validBefore: changes.validBefore ?? now + BigInt(asked.maxTimeoutSeconds),
    nonce,
  }
  const domain = {
    name: changes.name ?? asked.extra.name,
    version: asked.extra.version,
    chainId: changes.chainId ?? Number(asked.network.split(':')[1]),
    verifyingContract: (changes.contract ?? asked.asset) as Hex,
  }
  const primaryType = 'TransferWithAuthorization'
  const signature = await (changes.signer ?? payer).signTypedData({
    domain,
    types: TRANSFER,
    primaryType,
    message,
  })
  const authorization = {
    ...message,
    value: String(message.value),
    validAfter: String(message.validAfter),
    validBefore: String(message.validBefore),
  }
  const accepted = { ...asked, ...changes.accepted }
  const payment = { x402Version: 2, accepted, payload: { signature, authorization } }
  return { header: encoded(payment), nonce, signature }
}

export const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64')

/** What a header of the protocol says. */
export function decoded<Value>(header: string | null): Value {
  if (header === null) throw new Error('the header is missing')
  return JSON.parse(Buffer.from(header, 'base64').toString('utf8')) as Value
}
