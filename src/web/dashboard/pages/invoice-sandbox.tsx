import type { Invoice, Scenario, TestPayment } from '../api/types.ts'
import { useChange } from '../app/changes.ts'
import { Button } from '../parts/button.tsx'
import { ProblemNote } from '../parts/note.tsx'
import { Card } from '../parts/page.tsx'

/** What the sandbox can do to an invoice, and what it teaches. */
const SCENARIO_LABELS: { readonly [scenario in Scenario]: { label: string; hint: string } } = {
  exact: { label: 'Pay exactly', hint: 'What remains to be paid.' },
  under: { label: 'Pay too little', hint: '40% of it: the invoice is paid in part.' },
  over: { label: 'Pay too much', hint: '160% of it: you decide about the rest.' },
  two_parts: { label: 'Pay in two parts', hint: 'Half, then the rest.' },
  late: { label: 'Pay too late', hint: 'Lets it expire, then pays.' },
  double_spend: { label: 'Double-spend', hint: 'Pays, then spends the coin elsewhere.' },
  reorg: { label: 'Reorganise the chain', hint: 'Pays; the block leaves the chain and comes back.' },
}
const SCENARIOS = Object.keys(SCENARIO_LABELS) as Scenario[]

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
              {SCENARIO_LABELS[scenario].label}
            </Button>
            <small className="quiet">{SCENARIO_LABELS[scenario].hint}</small>
          </div>
        ))}
      </div>
      <ProblemNote error={pay.error} />
    </Card>
  )
}
