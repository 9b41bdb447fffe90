import type { BalanceEntry } from '../api/types.ts'
import type { CsvColumn } from './csv.ts'

export const STATEMENT_CSV_COLUMNS: readonly CsvColumn<BalanceEntry>[] = [
  ['id', ({ id }) => id],
  ['created_at', ({ created_at }) => created_at],
  ['account', ({ account }) => account],
  ['asset', ({ asset }) => asset],
  ['amount', ({ amount }) => amount],
  ['balance_after', ({ balance_after }) => balance_after],
  ['usd_value', ({ usd_value }) => usd_value],
  ['type', ({ type }) => type],
  ['invoice_id', ({ invoice_id }) => invoice_id],
  ['payment_id', ({ payment_id }) => payment_id],
  ['payout_id', ({ payout_id }) => payout_id],
  ['home_currency', ({ home_value }) => home_value?.currency ?? null],
  ['home_value', ({ home_value }) => home_value?.amount ?? null],
  ['home_rate_usd', ({ home_value }) => home_value?.rate?.usd_per_unit ?? null],
  ['home_rate_source', ({ home_value, created_at }) => rateSource(home_value, created_at)],
  ['deposit_id', ({ deposit_id }) => deposit_id],
  ['reference', ({ reference }) => reference ?? null],
]

/** Who said the rate, and when; or that there is none. */
function rateSource(value: BalanceEntry['home_value'] | undefined, createdAt: string): string | null {
  if (!value) return null
  if (value.rate === null) return `no rate kept for ${createdAt.slice(0, 10)}`
  return `${value.rate.sources.map(({ name }) => name).join(' and ')} at ${value.rate.quoted_at}`
}
