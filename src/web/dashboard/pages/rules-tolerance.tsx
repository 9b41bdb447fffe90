import { useRef } from 'react'
import type { PaymentRules } from '../api/types.ts'
import { useAccount } from '../app/session.ts'
import { Button } from '../parts/button.tsx'
import { Field } from '../parts/field.tsx'
import { faultOf, Note } from '../parts/note.tsx'
import { Card } from '../parts/page.tsx'

type Tolerance = PaymentRules['tolerance_under']
type Tolerances = { readonly under: Tolerance; readonly over: Tolerance }

/** What it covers, and why it is only suggested: docs/decisions/payments.md. */
const SUGGESTED: Tolerance = { percent: '1', cap_usd: '1.00' }

/** The smaller of the two counts, so that either one alone makes it nothing. */
const isNothing = ({ percent, cap_usd }: Tolerance): boolean => Number(percent) === 0 || Number(cap_usd) === 0

/** How far a payment may be off, with a suggestion for whoever accepts nothing but the exact amount. */
export function ToleranceCard({
  under,
  over,
  error,
  onChange,
}: Tolerances & { error: unknown; onChange: (value: Partial<Tolerances>) => void }) {
  const { isManager } = useAccount()
  const fields = useRef<HTMLDivElement>(null)
  const use = () => {
    onChange({ under: SUGGESTED, over: SUGGESTED })
    // The button goes away: the keyboard goes on where the values are.
    fields.current?.querySelector('input')?.focus()
  }
  return (
    <Card title="Payment tolerance">
      <div className="stack">
        <p className="quiet">
          Exchanges often take their fee out of what they send, so a little less arrives. An invoice counts as
          paid if it is off by no more than this; the smaller of percent and cap applies. 0: only the exact
          amount counts.
        </p>
        {isManager && isNothing(under) && isNothing(over) ? (
          <Note>
            <div className="stack">
              <p>Suggested for shops whose buyers pay from exchanges: 1%, at most $1.00.</p>
              <div className="actions">
                <Button small onClick={use}>
                  Use suggestion
                </Button>
              </div>
            </div>
          </Note>
        ) : null}
        <div className="grid-two" ref={fields}>
          <ToleranceFields
            title="Too little"
            name="tolerance_under"
            value={under}
            error={error}
            onChange={(value) => onChange({ under: value })}
          />
          <ToleranceFields
            title="Too much"
            name="tolerance_over"
            value={over}
            error={error}
            onChange={(value) => onChange({ over: value })}
          />
        </div>
      </div>
    </Card>
  )
}

function ToleranceFields({
  title,
  name,
  value,
  error,
  onChange,
}: {
  title: string
  name: string
  value: Tolerance
  error: unknown
  onChange: (value: Tolerance) => void
}) {
  return (
    <div className="stack">
      <h3>{title}</h3>
      <Field
        label={`${title}: percent`}
        inputMode="decimal"
        required
        value={value.percent}
        onChange={(event) => onChange({ ...value, percent: event.target.value })}
        fault={faultOf(error, `${name}.percent`)}
      />
      <Field
        label={`${title}: at most, in US dollars`}
        inputMode="decimal"
        required
        value={value.cap_usd}
        onChange={(event) => onChange({ ...value, cap_usd: event.target.value })}
        fault={faultOf(error, `${name}.cap_usd`)}
      />
    </div>
  )
}
