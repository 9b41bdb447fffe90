import type { Scenario } from '../api/types.ts'

/** What the sandbox can do to an invoice, and what it teaches. */
export const SCENARIO_WORDS: { readonly [scenario in Scenario]: { words: string; hint: string } } = {
  exact: { words: 'Pay exactly', hint: 'What remains to be paid.' },
  under: { words: 'Pay too little', hint: '40% of it: the invoice is paid in part.' },
  over: { words: 'Pay too much', hint: '160% of it: you decide about the rest.' },
  two_parts: { words: 'Pay in two parts', hint: 'Half, then the rest.' },
  late: { words: 'Pay too late', hint: 'Lets it expire, then pays.' },
  double_spend: { words: 'Take it back', hint: 'Pays, then spends the coin elsewhere.' },
  reorg: { words: 'Reorganise the chain', hint: 'Pays; the block leaves the chain and comes back.' },
}
