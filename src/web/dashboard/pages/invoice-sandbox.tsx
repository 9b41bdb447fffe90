import type { Invoice, Scenario, TestPayment } from '../api/types.ts'
import { useChange } from '../app/changes.ts'
import { Button } from '../parts/button.tsx'
import { ProblemNote } from '../parts/note.tsx'
import { Card } from '../parts/page.tsx'

/** What the sandbox can do to an invoice, and what it teaches. */
const SCENARIO_WORDS: { readonly [scenario in Scenario]: { words: string; hint: string } } = {
  exact: { words: 'Pay exactly', hint: 'What remains to be paid.' },
  under: { words: 'Pay too little', hint: '40% of it: the invoice is paid in part.' },
  over: { words: 'Pay too much', hint: '160% of it: you decide about the rest.' },
  two_parts: { words: 'Pay in two parts', hint: 'Half, then the rest.' },
  late: { words: 'Pay too late', hint: 'Lets it expire, then pays.' },
  double_spend: { words: 'Double-spend', hint: 'Pays, then spends the coin elsewhere.' },
  reorg: { words: 'Reorganise the chain', hint: 'Pays; the block leaves the chain and comes back.' },
}
const SCENARIOS = Object.keys(SCENARIO_WORDS) as Scenario[]

/** In test mode: pays the invoice on its sandbox chain, well or badly. */
export function TestPayCard({ invoice }: { invoice: Invoice }) {
  const pay = useChange<Scenario, TestPayment>(
    (scenario) => ({ path: `/test/invoices/${invoice.id}/pay`, body: { scenario } }),
    { done: 'The test payment is on its way.' },
  )
  return (
    <Card title="Pay it in the sandbox">
      <p className="quiet">
        Real transactions on a chain of test coins. Everything after that is as with live money.
      </p>
      <div className="choices">
        {SCENARIOS.map((scenario) => (
          <div key={scenario}>
            <Button
              look={scenario === 'exact' ? 'primary' : 'plain'}
              busy={pay.isPending}
              onClick={() => pay.mutate(scenario)}
            >
              {SCENARIO_WORDS[scenario].words}
            </Button>
            <small className="quiet">{SCENARIO_WORDS[scenario].hint}</small>
          </div>
        ))}
      </div>
      <ProblemNote error={pay.error} />
    </Card>
  )
}
