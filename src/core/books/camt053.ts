import { COINS, type PaymentAsset } from '../assets.ts'
import { formatCoinAmount, formatFiat, formatUsd, parsePrice } from '../money.ts'
import { type Currency, currencyDecimals } from '../rates/currencies.ts'
import {
  amountText,
  type BookEntry,
  type ClosingBalance,
  dayOf,
  isOutside,
  rateDay,
  receivedAs,
  sourcesOf,
} from './book-entry.ts'

/** An entry that came in or went out, with its id in the statement and the shop's own reference. */
export type StatementEntry = BookEntry & {
  readonly entryId: string
  readonly reference: string | null
}

/** One coin's account over a time. */
export type CoinStatement = {
  readonly asset: PaymentAsset
  /** What its entries before were worth, in the smallest units of the currency; of those with a value. */
  readonly openingUnits: bigint
  readonly entries: readonly StatementEntry[]
  /** What stands in each account of the coin at the end. */
  readonly closing: readonly ClosingBalance[]
}

type StatementFile = {
  readonly shop: { readonly id: string; readonly name: string; readonly livemode: boolean }
  readonly currency: Currency | 'USD'
  /** The first and the last day (UTC). */
  readonly firstDay: string
  readonly lastDay: string
  readonly createdAt: Date
  readonly statements: readonly CoinStatement[]
}

/** Whether money came in or went out; null for a move between own accounts. */
export function directionOf({ from, to }: BookEntry): 'CRDT' | 'DBIT' | null {
  if (isOutside(from) === isOutside(to)) return null
  return isOutside(from) ? 'CRDT' : 'DBIT'
}

/** What an entry adds to its statement, in the smallest units of the file's currency; null where that is not known. */
export function statementUnits(entry: BookEntry, currency: StatementFile['currency']): bigint | null {
  const { home, usdCents } = entry
  const size = currency === 'USD' ? usdCents : (home?.amount ?? null)
  if (size === null) return null
  const units = typeof size === 'bigint' ? size : BigInt(size.replace('.', ''))
  return directionOf(entry) === 'DBIT' ? -units : units
}

/**
 * ISO 20022 camt.053.001.08, "BankToCustomerStatement": a statement for each coin, valued in the shop's currency, because the
 * message's amounts have five decimals and currencies of three letters. Elements stand in the schema's order; texts are
 * cut to its lengths. Coins, to the last unit, are in the additional information of each entry and statement.
 */
export function camt053(file: StatementFile): readonly string[] {
  const { shop, createdAt } = file
  const stamp = createdAt.toISOString()
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08">',
    '<BkToCstmrStmt>',
    '<GrpHdr>',
    text('MsgId', `paylink-${stamp.replaceAll(/[-:.]/g, '')}`, 35),
    text('CreDtTm', stamp, 35),
    ...(shop.livemode ? [] : [text('AddtlInf', 'Test mode: no real money.', 500)]),
    '</GrpHdr>',
    ...file.statements.flatMap((statement) => statementLines(file, statement)),
    '</BkToCstmrStmt>',
    '</Document>',
  ]
}

function statementLines(file: StatementFile, statement: CoinStatement): readonly string[] {
  const { shop, currency, firstDay, lastDay, createdAt } = file
  const { asset, entries, openingUnits, closing } = statement
  const closingUnits = entries.reduce(
    (sum, entry) => sum + (statementUnits(entry, currency) ?? 0n),
    openingUnits,
  )
  return [
    '<Stmt>',
    text('Id', `${asset}-${firstDay.replaceAll('-', '')}-${lastDay.replaceAll('-', '')}`, 35),
    text('CreDtTm', createdAt.toISOString(), 35),
    `<FrToDt><FrDtTm>${firstDay}T00:00:00Z</FrDtTm><ToDtTm>${lastDay}T23:59:59Z</ToDtTm></FrToDt>`,
    '<Acct>',
    // Two shops in one accounting have two accounts of a coin.
    `<Id><Othr>${text('Id', `${asset}-${shop.id.slice(-12)}`, 34)}</Othr></Id>`,
    text('Ccy', currency, 3),
    text('Nm', `${COINS[asset].name} (${asset}) in ${currency}`, 70),
    `<Ownr>${text('Nm', shop.name, 140)}</Ownr>`,
    '</Acct>',
    balance('OPBD', openingUnits, currency, firstDay),
    balance('CLBD', closingUnits, currency, lastDay),
    ...entries.flatMap((entry) => entryLines(entry, currency)),
    text('AddtlStmtInf', `Closing balances in ${asset}: ${coinsText(closing)}.`, 500),
    '</Stmt>',
  ]
}

const coinsText = (closing: readonly ClosingBalance[]): string =>
  closing.map(({ account, asset, balance: units }) => `${account} ${amountText(units, asset)}`).join(', ')

function balance(code: string, units: bigint, currency: Currency | 'USD', day: string): string {
  const amount = amountOf(units, currency)
  const indicator = units < 0n ? 'DBIT' : 'CRDT'
  return `<Bal><Tp><CdOrPrtry><Cd>${code}</Cd></CdOrPrtry></Tp>${amount}<CdtDbtInd>${indicator}</CdtDbtInd><Dt><Dt>${day}</Dt></Dt></Bal>`
}

/** Never below zero: the direction stands beside it. */
function amountOf(units: bigint, currency: Currency | 'USD'): string {
  const size = formatFiat(units < 0n ? -units : units, currencyDecimals(currency))
  return `<Amt Ccy="${currency}">${size}</Amt>`
}

/** Families and sub-families of the external code set of bank transaction codes, under "payments". */
const CODES: { readonly [kind: string]: readonly [family: string, subFamily: string] } = {
  deposit: ['RCDT', 'OTHR'],
  deposit_void: ['RCDT', 'OTHR'],
  payout_sent: ['ICDT', 'OTHR'],
  network_fee: ['ICDT', 'FEES'],
  service_fee: ['RCDT', 'FEES'],
  service_fee_return: ['RCDT', 'RIMB'],
}
const REVERSALS = ['deposit_void', 'service_fee_return']

function entryLines(entry: StatementEntry, currency: Currency | 'USD'): readonly string[] {
  const { kind, createdAt, entryId, reference } = entry
  const amount = amountOf(statementUnits(entry, currency) ?? 0n, currency)
  const indicator = `<CdtDbtInd>${directionOf(entry)}</CdtDbtInd>`
  const [family, subFamily] = CODES[kind] ?? ['OTHR', 'OTHR']
  const day = dayOf(createdAt)
  const code = `<BkTxCd><Domn><Cd>PMNT</Cd><Fmly><Cd>${family}</Cd><SubFmlyCd>${subFamily}</SubFmlyCd></Fmly></Domn><Prtry>${text('Cd', kind, 35)}<Issr>Paylink</Issr></Prtry></BkTxCd>`
  const resource = entry.invoiceId ?? entry.payout?.id ?? null
  return [
    '<Ntry>',
    text('NtryRef', entryId, 35),
    `${amount}${indicator}`,
    ...(REVERSALS.includes(kind) ? ['<RvslInd>true</RvslInd>'] : []),
    `<Sts><Cd>BOOK</Cd></Sts><BookgDt><Dt>${day}</Dt></BookgDt><ValDt><Dt>${day}</Dt></ValDt>`,
    text('AcctSvcrRef', entryId, 35),
    code,
    '<NtryDtls><TxDtls>',
    `<Refs>${text('AcctSvcrRef', entryId, 35)}${text('EndToEndId', reference ?? 'NOTPROVIDED', 35)}`,
    ...(resource === null
      ? []
      : [
          `<Prtry>${text('Tp', entry.invoiceId === null ? 'payout' : receivedAs(entry.invoiceId), 35)}${text('Ref', resource, 35)}</Prtry>`,
        ]),
    '</Refs>',
    `${amount}${indicator}`,
    ...dollarLines(entry, currency),
    ...(reference === null ? [] : [`<RmtInf>${text('Ustrd', reference, 140)}</RmtInf>`]),
    text('AddtlTxInf', entryText(entry, currency), 500),
    '</TxDtls></NtryDtls>',
    '</Ntry>',
  ]
}

/** The same in dollars, and the rate between the two. */
function dollarLines({ home, usdCents }: StatementEntry, currency: Currency | 'USD'): readonly string[] {
  if (currency === 'USD' || usdCents === null || home?.amount == null || home.rate === null) return []
  const rate = text('XchgRate', rateText(home.rate.usdPerUnit), 12)
  const quoted = text('QtnDt', home.rate.quotedAt, 35)
  const exchange = `<CcyXchg><SrcCcy>USD</SrcCcy><TrgtCcy>${currency}</TrgtCcy><UnitCcy>${currency}</UnitCcy>${rate}${quoted}</CcyXchg>`
  return [
    `<AmtDtls><CntrValAmt><Amt Ccy="USD">${formatUsd(usdCents)}</Amt>${exchange}</CntrValAmt></AmtDtls>`,
  ]
}

/** Eleven digits, ten of them behind the point; the whole rate is in the text beside it. */
const rateText = (usdPerUnit: string): string => formatCoinAmount((parsePrice(usdPerUnit) ?? 0n) / 100n, 10)

function entryText(entry: StatementEntry, currency: Currency | 'USD'): string {
  const { id, asset, amount, usdCents, home, rate, createdAt } = entry
  const isKnown = statementUnits(entry, currency) !== null
  const missing =
    currency !== 'USD' && home?.rate === null
      ? `no ${currency} rate kept for ${dayOf(createdAt)}`
      : 'no price was known'
  return [
    `${amountText(amount, asset)} ${asset}`,
    ...(usdCents === null ? [] : [`${formatUsd(usdCents)} USD`]),
    ...(rate === null ? [] : [`${rate.usdPerUnit} USD by ${sourcesOf(rate)}`]),
    ...(home?.rate
      ? [`1 ${currency} = ${home.rate.usdPerUnit} USD by ${sourcesOf(home.rate)} on ${rateDay(home.rate)}`]
      : []),
    ...(isKnown ? [] : [`Value not known: ${missing}`]),
    id,
  ].join('; ')
}

const NAMES: { readonly [character: string]: string } = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
}

/** An element of at most so many characters, without what XML 1.0 cannot hold ("Characters", 2.2). */
function text(name: string, value: string, charactersMax: number): string {
  const whole = [...value.replaceAll(/[^\t\n\r\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]/gu, '?')]
  const cut = whole.slice(0, charactersMax).join('')
  return `<${name}>${cut.replaceAll(/[&<>"]/g, (character) => NAMES[character] ?? '')}</${name}>`
}
