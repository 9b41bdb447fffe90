import type { Invoice, Scenario, TestPayment } from '../api/types.ts'
import { useChange } from '../app/changes.ts'
import { Button } from './button.tsx'
import { ProblemNote } from './note.tsx'
import { Card } from './page.tsx'
import { SCENARIO_WORDS } from './scenarios.ts'

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
