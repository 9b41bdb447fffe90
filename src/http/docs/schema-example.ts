export type JsonSchema = { readonly [keyword: string]: unknown }

/** What fields of these names look like, so that an example is one story: an order of $49.99 in LTC at $100. */
const BY_NAME: { readonly [field: string]: unknown } = {
  action: 'invoice.cancel',
  actor: 'key_01jd0w5f3e8gqv7n5k2m9x4c6t',
  address: 'ltc1q6vsxgu70pjq9wf6ctw7az4q02lxlzeg5g8s3f4',
  amount: '0.4999',
  amount_confirmed: '0',
  amount_detected: '0',
  amount_remaining: '0.4999',
  asset: 'LTC',
  caller: 'key_01jd0w5f3e8gqv7n5k2m9x4c6t',
  cap_usd: '1.00',
  challenge: '5UBvW1bXbPqYt3k0a1mGQm7rJwq0f6b8d1xv3m2h9Zs',
  checkout_url: 'https://pay.example.com/i/kZb3TqT0v6m1y8cQX2n5Lg',
  coin: 'LTC',
  currency: 'USD',
  destination: 'ltc1q6vsxgu70pjq9wf6ctw7az4q02lxlzeg5g8s3f4',
  dust: [],
  digest: '4e1b8f0c6d2a9e5f7b3c1d8a0f6e4b2c9d7a5f3e1c8b6d4a2f0e9c7b5d3a1f8e',
  email: 'owner@shop.example',
  hash: '6a1c0b7d5f3e9a2b8c4d6e0f1a3b5c7d9e1f2a4b6c8d0e2f4a6b8c0d2e4f6a8b',
  id: 'imp_01jd0w5f3e8gqv7n5k2m9x4c6t',
  method: 'POST',
  name: 'Corner Coffee',
  network: 'Litecoin',
  order_reference: 'order-1042',
  paid_usd: '49.99',
  passkeys: 'kZb3TqT0v6m1y8cQX2n5Lg',
  path: '/api/v1/invoices',
  payment_uri: 'litecoin:ltc1q6vsxgu70pjq9wf6ctw7az4q02lxlzeg5g8s3f4?amount=0.4999',
  payments: [],
  payments_count: 0,
  percent: '0.5',
  received: '12.4975',
  received_usd: '1249.75',
  request_id: 'req_01jd0w5f3e8gqv7n5k2m9x4c6t',
  requested_by: 'key_01jd0w5f3e8gqv7n5k2m9x4c6t',
  route: '/invoices',
  source_id: '7f3a2c',
  status: 'complete',
  symbol: 'LTC',
  tip_hash: '6a1c0b7d5f3e9a2b8c4d6e0f1a3b5c7d9e1f2a4b6c8d0e2f4a6b8c0d2e4f6a8b',
  text: 'Asked for a printed bill on Monday.',
  txid: '9f1c4d7a2b5e8c0f3a6d9b2e5c8f1a4d7b0e3c6f9a2d5b8e1c4f7a0d3b6e9c2f',
  txids: '9f1c4d7a2b5e8c0f3a6d9b2e5c8f1a4d7b0e3c6f9a2d5b8e1c4f7a0d3b6e9c2f',
  type: 'deposit',
  updated_by: 'per_01jd0w5f3e8gqv7n5k2m9x4c6t',
  url: '/api/v1/invoices',
  usd_amount: '49.99',
  usd_per_unit: '100.00',
}
const SCOPE = 'invoices:read'
const DAY = '2026-01-31'

/**
 * A value that a schema of ours allows, for people to read: its own example where it has one, else the first of what
 * may be there, and null where that may be. Throws for a text without any.
 */
export function exampleOf(
  schema: JsonSchema,
  components: { readonly [name: string]: JsonSchema },
  field = '',
): unknown {
  const { $ref: ref, examples, anyOf, allOf, type, properties, items } = schema
  const inner = (part: unknown, name = field) => exampleOf(part as JsonSchema, components, name)
  if (typeof ref === 'string') return inner(components[ref.slice(ref.lastIndexOf('/') + 1)])
  if ('const' in schema) return schema.const
  if (isNamed(field, schema)) return BY_NAME[field]
  if (allowsNull(schema)) return null
  if (Array.isArray(examples)) return examples[0]
  if (Array.isArray(schema.enum)) return schema.enum[0]
  if (Array.isArray(anyOf)) return inner(anyOf[0])
  if (Array.isArray(allOf)) return inner(allOf[0])
  if (type === 'object' || properties !== undefined) {
    return Object.fromEntries(
      Object.entries((properties ?? {}) as object).map(([name, part]) => [name, inner(part, name)]),
    )
  }
  if (type === 'array') return [inner(items)]
  if (type === 'boolean') return false
  if (type === 'integer' || type === 'number') return Math.max(1, Number(schema.minimum ?? 1))
  if (schema.format === 'date') return DAY
  if (field === 'scopes') return SCOPE
  if (field === 'subscribed_events') return '*'
  throw new Error(`no example of ${field || JSON.stringify(schema)}: add one to its schema or to BY_NAME`)
}

const allowsNull = ({ type, anyOf }: JsonSchema): boolean =>
  (Array.isArray(type) && type.includes('null')) ||
  (Array.isArray(anyOf) && anyOf.some((part: unknown) => (part as JsonSchema).type === 'null'))

/** Whether the schema allows what stands under the field's name. An id of ours has an example of its own. */
function isNamed(field: string, { type, examples, enum: values, anyOf }: JsonSchema): boolean {
  const value = BY_NAME[field]
  if (value === undefined || anyOf !== undefined) return false
  if (Array.isArray(values)) return values.includes(value)
  const wanted = Array.isArray(value) ? 'array' : typeof value === 'number' ? 'integer' : 'string'
  if (type !== wanted && !(Array.isArray(type) && type.includes(wanted))) return false
  return examples === undefined || field.startsWith('amount')
}
