import { amountsOf } from '../core/invoice/status.ts'
import type { Invoice } from '../core/invoice/types.ts'

export type Scenario = 'exact' | 'under' | 'over' | 'two_parts' | 'late' | 'double_spend' | 'reorg'

const UNDER_PERCENT = 40n
const OVER_PERCENT = 160n

/**
 * What a scenario pays, in base units, one transaction each: parts of what remains to be paid, or of the whole
 * amount where nothing remains, so that a payment after settlement can be tried too.
 */
export function scenarioAmounts(invoice: Invoice, scenario: Scenario): readonly bigint[] {
  const { remaining } = amountsOf(invoice)
  const due = remaining > 0n ? remaining : invoice.amount
  switch (scenario) {
    case 'under':
      return [atLeastOne((due * UNDER_PERCENT) / 100n)]
    case 'over':
      return [(due * OVER_PERCENT + 99n) / 100n]
    case 'two_parts':
      return due === 1n ? [due] : [due / 2n, due - due / 2n]
    case 'exact':
    case 'late':
    case 'double_spend':
    case 'reorg':
      return [due]
  }
}

const atLeastOne = (amount: bigint): bigint => (amount > 0n ? amount : 1n)
