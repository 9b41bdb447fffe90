import { useMutation, useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { ASSETS } from '../../../core/assets.ts'
import { typedAmount } from '../../../core/money.ts'
import { balancesOf, destinationsOf } from '../api/reads.ts'
import { requestApi } from '../api/request.ts'
import type { CreatePayout, Payout, PayoutDestination, PayoutQuote } from '../api/types.ts'
import { useChange } from '../app/changes.ts'
import { useMode } from '../app/session.ts'
import { Button } from '../parts/button.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Field, Select } from '../parts/field.tsx'
import { COINS, coins } from '../parts/money.ts'
import { faultOf, Note, ProblemNote } from '../parts/note.tsx'
import { Facts } from '../parts/page.tsx'
import { Read } from '../parts/read.tsx'
import { formatMoment } from '../parts/time.tsx'
import { Worth } from '../parts/worth.tsx'

/** Asks for a payout in two steps: where to and how much; then what leaves, what the network takes, what arrives. */
export function NewPayoutDialog({ onClose }: { onClose: () => void }) {
  const mode = useMode()
  const destinations = useQuery(destinationsOf(mode))
  // A balance that came later would move the buttons under the pointer. Once shown it stays: a reading that fails goes
  // back to pending, and would take what was typed, or a request under way, from the page.
  const balances = useQuery(balancesOf(mode))
  const [isShown, setShown] = useState(false)
  if (!isShown && !balances.isPending) setShown(true)
  const [form, setForm] = useState({ destinationId: '', amount: '' })
  const [quote, setQuote] = useState<PayoutQuote | null>(null)
  return (
    <Dialog title={quote === null ? 'New payout' : 'Review payout'} onClose={onClose}>
      <Read read={isShown ? destinations : WAITING} lines={3}>
        {({ data }) =>
          quote === null ? (
            <AskForm destinations={data} form={form} onForm={setForm} onQuote={setQuote} onClose={onClose} />
          ) : (
            <Review quote={quote} onBack={() => setQuote(null)} />
          )
        }
      </Read>
    </Dialog>
  )
}

const WAITING = { data: undefined, error: null }

type Form = { readonly destinationId: string; readonly amount: string }

function AskForm({
  destinations,
  form,
  onForm,
  onQuote,
  onClose,
}: {
  destinations: readonly PayoutDestination[]
  form: Form
  onForm: (form: Form) => void
  onQuote: (quote: PayoutQuote) => void
  onClose: () => void
}) {
  const mode = useMode()
  const balances = useQuery(balancesOf(mode))
  const usable = destinations.filter(isUsable)
  const chosen = usable.find(({ id }) => id === form.destinationId) ?? usable[0]
  const look = useMutation({
    mutationFn: ({ id, amount }: { id: string; amount: string | undefined }) =>
      requestApi<PayoutQuote>(mode, 'GET', `/payout-destinations/${id}/quote`, { query: { amount } }),
    onSuccess: onQuote,
  })
  if (chosen === undefined) return <NoDestination destinations={destinations} />
  const { symbol } = COINS[chosen.asset]
  const available = balances.data?.data.find(({ asset }) => asset === chosen.asset)?.available
  return (
    <form
      className="stack"
      onSubmit={(event) => {
        event.preventDefault()
        look.mutate({ id: chosen.id, amount: typedAmount(form.amount, ASSETS[chosen.asset].decimals) })
      }}
    >
      <Select
        label="Where to"
        value={chosen.id}
        onChange={(event) => onForm({ ...form, destinationId: event.target.value })}
        hint={<span className="break mono">{chosen.address}</span>}
      >
        {destinations.map((one) => (
          <option key={one.id} value={one.id} disabled={!isUsable(one)}>
            {`${one.name}, ${COINS[one.asset].name}${isUsable(one) ? '' : ` (from ${formatMoment(one.usable_at)})`}`}
          </option>
        ))}
      </Select>
      <Field
        label={`Amount in ${symbol}`}
        inputMode="decimal"
        required
        value={form.amount}
        onChange={(event) => onForm({ ...form, amount: event.target.value })}
        hint={
          available === undefined
            ? undefined
            : `You have ${coins(available, chosen.asset)} available. The network's fee is taken from the amount.`
        }
        fault={faultOf(look.error, 'amount')}
      />
      {faultOf(look.error, 'amount') === null ? <ProblemNote error={look.error} /> : null}
      <div className="actions end">
        <Button onClick={onClose}>Cancel</Button>
        <Button busy={look.isPending} onClick={() => look.mutate({ id: chosen.id, amount: undefined })}>
          Everything
        </Button>
        <Button type="submit" look="primary" busy={look.isPending}>
          Continue
        </Button>
      </div>
    </form>
  )
}

const isUsable = ({ usable_at }: PayoutDestination): boolean => Date.parse(usable_at) <= Date.now()

function NoDestination({ destinations }: { destinations: readonly PayoutDestination[] }) {
  const first = destinations.map(({ usable_at }) => usable_at).sort()[0]
  return (
    <div className="stack">
      <p>
        {first === undefined
          ? 'Add a destination first: payouts go only to addresses on your list.'
          : `Your destinations are still in their waiting time. The first can be used from ${formatMoment(first)}.`}
      </p>
      <Link className="button primary" to="/payouts/destinations">
        Go to the destinations
      </Link>
    </div>
  )
}

function Review({ quote, onBack }: { quote: PayoutQuote; onBack: () => void }) {
  const navigate = useNavigate()
  const { asset, amount, network_fee, network_fee_max, net_amount, destination, destination_id } = quote
  const ask = useChange<CreatePayout, Payout>((body) => ({ path: '/payouts', body }), {
    done: 'The payout waits for approval.',
    onDone: ({ id }) => void navigate({ to: '/payouts/$id', params: { id } }),
  })
  return (
    <div className="stack">
      <Facts
        facts={[
          ['Debited', <Worth key="amount" amount={amount} asset={asset} />],
          ['Estimated network fee', <Worth key="fee" amount={network_fee} asset={asset} />],
          ['Arrives, about', <Worth key="net" amount={net_amount} asset={asset} />],
          ['At this address', <code key="to">{destination}</code>],
        ]}
      />
      <Note>
        <p>
          This is the current fee. If the network gets busier, it may rise to at most{' '}
          <Worth amount={network_fee_max} asset={asset} />. Nothing is sent before the payout is approved.
        </p>
      </Note>
      <ProblemNote error={ask.error} />
      <div className="actions end">
        <Button onClick={onBack}>Back</Button>
        <Button look="primary" busy={ask.isPending} onClick={() => ask.mutate({ destination_id, amount })}>
          Request payout
        </Button>
      </div>
    </div>
  )
}
