/** One request to the API, as its examples send it. */
type SampleRequest = {
  readonly operationId: string
  readonly method: string
  /** Below the base URL, `{id}` filled in. */
  readonly path: string
  readonly baseUrl: string
  readonly body?: { readonly [field: string]: unknown }
  /** Whether an Idempotency-Key makes a repetition safe. */
  readonly isCreate: boolean
  readonly hasAnswer: boolean
}

/** As in `x-codeSamples`, which every reference of OpenAPI documents shows. */
export type CodeSample = { readonly lang: string; readonly label: string; readonly source: string }

const IDEMPOTENCY_KEY = 'order-1042'

/** The request in curl, and in Node.js, Python and PHP with nothing else to install than our SDK. */
export function codeSamples(request: SampleRequest): readonly CodeSample[] {
  return [
    { lang: 'shell', label: 'curl', source: curl(request) },
    { lang: 'javascript', label: 'Node.js', source: node(request) },
    { lang: 'python', label: 'Python', source: python(request) },
    { lang: 'php', label: 'PHP', source: php(request) },
  ]
}

function curl({ method, path, baseUrl, body, isCreate }: SampleRequest): string {
  const lines = [
    `curl${method === 'GET' ? '' : ` -X ${method}`} ${baseUrl}${path}`,
    '-H "Authorization: Bearer $PAYLINK_API_KEY"',
  ]
  if (isCreate) lines.push(`-H "Idempotency-Key: ${IDEMPOTENCY_KEY}"`)
  if (body !== undefined) {
    // A quote inside single quotes: end them, write it, begin them again.
    const json = JSON.stringify(body, null, 2).replaceAll("'", "'\\''")
    lines.push('-H "Content-Type: application/json"', `-d '${json}'`)
  }
  return lines.join(' \\\n  ')
}

/** What the SDK calls otherwise than its path says. */
const SDK_NAMES: { readonly [operationId: string]: string } = {
  listImportedInvoices: 'invoices.imported',
  createCheckoutSession: 'checkoutSessions.create',
  listCheckoutSessions: 'checkoutSessions.list',
  requestWebhookEndpoint: 'webhookEndpoints.request',
  listAssets: 'market.assets',
  listRates: 'market.rates',
  payTestInvoice: 'invoices.payInTest',
  payTestDeposit: 'depositAddresses.payInTest',
}
const VERBS: { readonly [method: string]: string } = { POST: 'create', PATCH: 'update', DELETE: 'remove' }
const ID = /\/([a-z]+_[0-9a-z]{26})(?=\/|$)/

/** `/payment-links/ID/checkout-sessions` → its method of the SDK, such as `checkoutSessions.create`. */
function sdkName({ operationId, method, path }: SampleRequest): string {
  const known = SDK_NAMES[operationId]
  if (known !== undefined) return known
  const [resource = '', action] = path
    .replace('/api/v1/', '')
    .replace(ID, '')
    .split('/')
    .map((part) => part.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase()))
  const verb = VERBS[method] ?? (ID.test(path) ? 'get' : 'list')
  return `${resource}.${action ?? verb}`
}

function node(request: SampleRequest): string {
  const { path, baseUrl, body, isCreate, hasAnswer, operationId } = request
  const name = sdkName(request)
  const given = operationId === 'payTestInvoice' ? body?.scenario : body
  const parts = [ID.exec(path)?.[1], given].filter((part) => part !== undefined).map((part) => inNode(part))
  if (isCreate) parts.push(inNode({ idempotencyKey: IDEMPOTENCY_KEY }))
  const call = `paylink.${name}(${parts.join(', ')})`
  const lines = operationId.startsWith('list')
    ? [`for await (const item of ${call}) console.log(item)`]
    : hasAnswer
      ? [`const answer = await ${call}`, 'console.log(answer)']
      : [`await ${call}`]
  return [
    "import { Paylink } from 'paylink-sdk'",
    '',
    `const paylink = new Paylink({ apiKey: process.env.PAYLINK_API_KEY, baseUrl: ${inNode(baseUrl)} })`,
    ...lines,
  ].join('\n')
}

function python({ method, path, baseUrl, body, isCreate, hasAnswer }: SampleRequest): string {
  const headers = [`"Authorization": f"Bearer {os.environ['PAYLINK_API_KEY']}",`]
  if (isCreate) headers.push(`"Idempotency-Key": "${IDEMPOTENCY_KEY}",`)
  if (body !== undefined) headers.push('"Content-Type": "application/json",')
  const data = body === undefined ? [] : [`    data=json.dumps(${inPython(body, '    ')}).encode(),`]
  return [
    'import json, os, urllib.request',
    '',
    'request = urllib.request.Request(',
    `    "${baseUrl}${path}",`,
    `    method="${method}",`,
    '    headers={',
    ...headers.map((line) => `        ${line}`),
    '    },',
    ...data,
    ')',
    'with urllib.request.urlopen(request) as response:',
    hasAnswer ? '    print(json.load(response))' : '    print(response.status)',
  ].join('\n')
}

function php({ method, path, baseUrl, body, isCreate, hasAnswer }: SampleRequest): string {
  const headers = ["'Authorization: Bearer ' . getenv('PAYLINK_API_KEY'),"]
  if (isCreate) headers.push(`'Idempotency-Key: ${IDEMPOTENCY_KEY}',`)
  if (body !== undefined) headers.push("'Content-Type: application/json',")
  const content = body === undefined ? [] : [`    'content' => json_encode(${inPhp(body, '    ')}),`]
  return [
    '<?php',
    '',
    "$context = stream_context_create(['http' => [",
    `    'method' => '${method}',`,
    "    'header' => [",
    ...headers.map((line) => `        ${line}`),
    '    ],',
    ...content,
    ']]);',
    `$answer = file_get_contents('${baseUrl}${path}', false, $context);`,
    hasAnswer ? 'print_r(json_decode($answer, true));' : 'echo $http_response_header[0];',
  ].join('\n')
}

type Syntax = {
  readonly text: (value: string) => string
  readonly word: (value: boolean | null) => string
  readonly object: readonly [string, string]
  readonly key: (name: string) => string
  readonly indent: string
}

/** A value as a language writes it, objects over several lines where they do not fit on one. */
function write(value: unknown, syntax: Syntax, at: string): string {
  const inner = `${at}${syntax.indent}`
  if (typeof value === 'string') return syntax.text(value)
  if (typeof value === 'boolean' || value === null) return syntax.word(value)
  if (Array.isArray(value)) return `[${value.map((part) => write(part, syntax, at)).join(', ')}]`
  if (typeof value !== 'object') return String(value)
  const [open, close] = syntax.object
  const parts = Object.entries(value).map(
    ([name, part]) => `${syntax.key(name)}${write(part, syntax, inner)}`,
  )
  const space = open === '{' ? ' ' : ''
  if (parts.length === 1) return `${open}${space}${parts[0]}${space}${close}`
  return `${open}\n${parts.map((part) => `${inner}${part},\n`).join('')}${at}${close}`
}

const single = (value: string) => `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`

function inNode(value: unknown): string {
  const syntax = {
    text: single,
    word: String,
    object: ['{', '}'],
    key: (name: string) => `${name}: `,
  } as const
  return write(value, { ...syntax, indent: '  ' }, '')
}

function inPython(value: unknown, at: string): string {
  const word = (given: boolean | null) => (given === null ? 'None' : given ? 'True' : 'False')
  const text = (given: string) => JSON.stringify(given)
  const key = (name: string) => `"${name}": `
  return write(value, { text, word, object: ['{', '}'], key, indent: '    ' }, at)
}

function inPhp(value: unknown, at: string): string {
  const key = (name: string) => `'${name}' => `
  return write(value, { text: single, word: String, object: ['[', ']'], key, indent: '    ' }, at)
}
