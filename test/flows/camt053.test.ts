// @module-tag python
import { spawnSync } from 'node:child_process'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { setBranding } from '../../src/flows/branding.ts'
import { writeStatement } from '../../src/flows/write-statement.ts'
import { recordPayment } from '../compat/record-payment.ts'
import { createTestApi, type TestApi, type TestMerchant } from '../support/api.ts'
import { programPath } from '../support/programs.ts'
import { type Balances, balancesOf, haveBusiness } from './books-of-a-shop.ts'

/** The ledger as a bank statement, read by Python's XML parser and held against the schema's rules. */

type Element = { name: string; text: string; attributes: { [name: string]: string }; children: Element[] }

const NAMESPACE = 'urn:iso:std:iso:20022:tech:xsd:camt.053.001.08'
const DAY_MS = 86_400_000
const READ = `import json, sys, xml.etree.ElementTree as tree
def told(element):
  return {"name": element.tag, "text": element.text or "", "attributes": element.attrib,
    "children": [told(child) for child in element]}
print(json.dumps(told(tree.fromstring(sys.stdin.buffer.read()))))`

/** What the schema allows of the elements that we write: children in order, "?" at most once, "*" any number, "+" one at least. */
const CHILDREN: { readonly [element: string]: string } = {
  Document: 'BkToCstmrStmt',
  BkToCstmrStmt: 'GrpHdr Stmt+ SplmtryData*',
  GrpHdr: 'MsgId CreDtTm MsgRcpt? MsgPgntn? OrgnlBizQry? AddtlInf?',
  Stmt: 'Id StmtPgntn? ElctrncSeqNb? RptgSeq? LglSeqNb? CreDtTm? FrToDt? CpyDplctInd? RptgSrc? Acct RltdAcct? Intrst* Bal+ TxsSummry? Ntry* AddtlStmtInf?',
  FrToDt: 'FrDtTm ToDtTm',
  Acct: 'Id Tp? Ccy? Nm? Prxy? Ownr? Svcr?',
  'Acct/Id': 'Othr',
  Othr: 'Id SchmeNm? Issr?',
  Ownr: 'Nm? PstlAdr? Id? CtryOfRes? CtctDtls?',
  Bal: 'Tp CdtLine* Amt CdtDbtInd Dt Avlbty*',
  'Bal/Tp': 'CdOrPrtry SubTp?',
  CdOrPrtry: 'Cd',
  'Bal/Dt': 'Dt',
  Ntry: 'NtryRef? Amt CdtDbtInd RvslInd? Sts BookgDt? ValDt? AcctSvcrRef? Avlbty* BkTxCd ComssnWvrInd? AddtlInfInd? AmtDtls? Chrgs? TechInptChanl? Intrst? CardTx? NtryDtls* AddtlNtryInf?',
  Sts: 'Cd',
  BookgDt: 'Dt',
  ValDt: 'Dt',
  BkTxCd: 'Domn? Prtry?',
  Domn: 'Cd Fmly',
  Fmly: 'Cd SubFmlyCd',
  'BkTxCd/Prtry': 'Cd Issr?',
  NtryDtls: 'Btch? TxDtls*',
  TxDtls:
    'Refs? Amt? CdtDbtInd? AmtDtls? Avlbty* BkTxCd? Chrgs? Intrst? RltdPties? RltdAgts? LclInstrm? Purp? RltdRmtInf* RmtInf? RltdDts? RltdPric? RltdQties* FinInstrmId? Tax? RtrInf? CorpActn? SfkpgAcct? CshDpst* CardTx? AddtlTxInf? SplmtryData*',
  Refs: 'MsgId? AcctSvcrRef? PmtInfId? InstrId? EndToEndId? UETR? TxId? MndtId? ChqNb? ClrSysRef? AcctOwnrTxId? AcctSvcrTxId? MktInfrstrctrTxId? PrcgId? Prtry*',
  'Refs/Prtry': 'Tp Ref',
  AmtDtls: 'InstdAmt? TxAmt? CntrValAmt? AnncdPstngAmt? PrtryAmt*',
  CntrValAmt: 'Amt CcyXchg?',
  CcyXchg: 'SrcCcy TrgtCcy? UnitCcy? XchgRate CtrctId? QtnDt?',
  RmtInf: 'Ustrd* Strd*',
}
const DATE = /^\d{4}-\d\d-\d\d$/
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?Z$/
const ofLength = (most: number) => new RegExp(`^[^]{1,${most}}$`, 'u')
/** What the schema allows of texts. */
const TEXTS: { readonly [element: string]: RegExp } = {
  MsgId: ofLength(35),
  Id: ofLength(34),
  CreDtTm: TIME,
  FrDtTm: TIME,
  ToDtTm: TIME,
  QtnDt: TIME,
  Dt: DATE,
  Ccy: /^[A-Z]{3}$/,
  SrcCcy: /^[A-Z]{3}$/,
  TrgtCcy: /^[A-Z]{3}$/,
  UnitCcy: /^[A-Z]{3}$/,
  Nm: ofLength(70),
  Amt: /^\d{1,13}(\.\d{1,5})?$/,
  CdtDbtInd: /^(CRDT|DBIT)$/,
  RvslInd: /^true$/,
  Cd: ofLength(35),
  SubFmlyCd: ofLength(4),
  Issr: ofLength(35),
  NtryRef: ofLength(35),
  AcctSvcrRef: ofLength(35),
  EndToEndId: ofLength(35),
  Tp: ofLength(35),
  Ref: ofLength(35),
  XchgRate: /^\d(\.\d{1,10})?$/,
  Ustrd: ofLength(140),
  AddtlTxInf: ofLength(500),
  AddtlStmtInf: ofLength(500),
  AddtlInf: ofLength(500),
}

let api: TestApi
let merchant: TestMerchant
const tenant = () => ({ merchantId: merchant.id, livemode: false })
beforeAll(async () => {
  api = await createTestApi({ serviceFeeBps: 100 })
  merchant = await api.addMerchant()
  await haveBusiness(api, merchant)
  const body = {
    usd_amount: '5.00',
    asset: 'LTC',
    external_reference: `<Bestellung> & "1"\u0007 ${'ü'.repeat(200)}`,
  }
  const made = await api.call('POST', '/invoices', { key: merchant.testKey, body })
  expect(made.status).toBe(201)
  await recordPayment(api, merchant, made.body.id, 'final')
})
afterAll(() => api.drop())

async function written(
  span: { from: Date; to: Date } | null = null,
  of = tenant(),
): Promise<{ kind: string; text: string }> {
  const lines: string[] = []
  const deps = { pool: api.database.owner, clock: api.deps.clock }
  const { kind } = await writeStatement(deps, of, span, (line) => lines.push(line))
  return { kind, text: lines.join('\n') }
}

async function statementsIn(span: { from: Date; to: Date } | null = null): Promise<Element[]> {
  const { text } = await written(span)
  const { stdout, stderr } = spawnSync(programPath('python'), ['-c', READ], { input: text })
  expect(stderr.toString()).toBe('')
  const root: Element = JSON.parse(stdout.toString())
  obeysSchema(root, '')
  return all(root, 'Stmt')
}

/** Every element in the namespace, at its place, as often as the schema lets it, and its text of the schema's form. */
function obeysSchema(element: Element, parent: string): void {
  const name = element.name.replace(`{${NAMESPACE}}`, '')
  expect(element.name).toBe(`{${NAMESPACE}}${name}`)
  const children = element.children.map((child) => child.name.replace(`{${NAMESPACE}}`, ''))
  if (children.length === 0) {
    expect(element.text, name).toMatch(TEXTS[name] ?? /^never$/)
    if (name === 'Amt') expect(element.attributes.Ccy).toMatch(/^[A-Z]{3}$/)
    return
  }
  const rule = CHILDREN[`${parent}/${name}`] ?? CHILDREN[name] ?? ''
  const pattern = rule.split(' ').map((part) => part.replace(/^(\w+)([?*+]?)$/, '(?:$1 )$2'))
  expect(children.map((child) => `${child} `).join(''), name).toMatch(new RegExp(`^${pattern.join('')}$`))
  for (const child of element.children) obeysSchema(child, name)
}

const all = (element: Element | undefined, ...path: string[]): Element[] =>
  path.reduce<Element[]>(
    (found, name) =>
      found.flatMap(({ children }) => children.flatMap((child) => descend(child, `{${NAMESPACE}}${name}`))),
    element === undefined ? [] : [element],
  )
const descend = (element: Element, name: string): Element[] =>
  element.name === name ? [element] : element.children.flatMap((child) => descend(child, name))
const textOf = (element: Element | undefined, ...path: string[]): string =>
  all(element, ...path)[0]?.text ?? ''
const cents = (text: string): bigint => BigInt(text.replace('.', ''))
const signed = (element: Element): bigint =>
  textOf(element, 'CdtDbtInd') === 'DBIT' ? -cents(textOf(element, 'Amt')) : cents(textOf(element, 'Amt'))

/** The coins that the statements say stand in each account, without what is nothing. */
function closingOf(statements: readonly Element[]): Balances {
  const told: Balances = {}
  for (const statement of statements) {
    const [, asset = '', list = ''] =
      /^Closing balances in (\w+): (.*)\.$/.exec(textOf(statement, 'AddtlStmtInf')) ?? []
    for (const part of list.split(', ')) {
      const [account = '', amount = ''] = part.split(' ')
      if (amount !== '0') told[account] = { ...told[account], [asset]: amount }
    }
  }
  return told
}

test('the whole ledger is a statement of each coin by the schema, with the balances of the API', async () => {
  const statements = await statementsIn()
  expect(statements.map((statement) => textOf(statement, 'Acct', 'Ccy'))).toEqual(Array(4).fill('EUR'))
  expect(closingOf(statements)).toEqual(await balancesOf(api, merchant))
  for (const statement of statements) {
    const [opening, closing] = all(statement, 'Bal').map(signed)
    const moved = all(statement, 'Ntry').reduce((sum, entry) => sum + signed(entry), 0n)
    expect([opening, closing]).toEqual([0n, moved])
  }
  const texts = statements.flatMap((statement) => all(statement, 'AddtlTxInf')).map(({ text }) => text)
  expect(texts.some((text) => text.includes('Value not known: no EUR rate kept for 2026-11-22'))).toBe(true)
  expect(texts.some((text) => text.includes('1 EUR = 1.1 USD by sandbox on 2026-11-21'))).toBe(true)
})

test('a payment has its price, its dollars, the rate and the shop’s reference, whatever is in that', async () => {
  const statements = await statementsIn()
  const [first] = all(
    statements.find((one) => textOf(one, 'Othr', 'Id').startsWith('LTC-')),
    'Ntry',
  )
  expect(textOf(first, 'Amt')).toBe('49.99')
  expect(textOf(first, 'CntrValAmt', 'Amt')).toBe('54.99')
  expect(textOf(first, 'XchgRate')).toBe('1.1')
  const references = statements.flatMap((one) => all(one, 'EndToEndId')).map(({ text }) => text)
  expect(references).toContain(`<Bestellung> & "1"? ${'ü'.repeat(15)}`)
})

test('a month begins with what the months before came to, and ends with the balances of then', async () => {
  const [from, to] = [new Date('2026-11-22T00:00:00Z'), new Date('2026-11-23T00:00:00Z')]
  const before = await statementsIn({ from: new Date('2026-11-01T00:00:00Z'), to: from })
  const during = await statementsIn({ from, to })
  const [, closing] = all(before[0], 'Bal').map(signed)
  expect(all(during[0], 'Bal').map(signed)[0]).toBe(closing)
  expect(all(during[0], 'Bal', 'Dt', 'Dt').map(({ text }) => text)).toEqual(['2026-11-22', '2026-11-22'])
  expect(closingOf(during)).toEqual(await balancesOf(api, merchant, to.toISOString()))
})

test('a shop of dollars has statements in dollars, and one without entries has none', async () => {
  const deps = { pool: api.database.pools.api, clock: api.deps.clock }
  await setBranding(deps, merchant.id, { homeCurrency: null })
  const statements = await statementsIn()
  expect(textOf(statements[0], 'Acct', 'Ccy')).toBe('USD')
  expect(closingOf(statements)).toEqual(await balancesOf(api, merchant))
  const other = await api.addMerchant()
  expect(await written(null, { merchantId: other.id, livemode: false })).toEqual({ kind: 'empty', text: '' })
  const past = new Date(Date.parse('2026-01-01'))
  const span = { from: past, to: new Date(past.getTime() + DAY_MS) }
  expect((await written(span)).kind).toBe('empty')
})
