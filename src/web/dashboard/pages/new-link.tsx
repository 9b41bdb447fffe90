import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import type { AssetName, CreatePaymentLink, PaymentLink } from '../api/types.ts'
import { useChange } from '../app/changes.ts'
import { useHomeCurrency } from '../app/home-currency.ts'
import {
  BUYER_FAULTS,
  BuyerAmountFields,
  buyerAmountBody,
  buyerAmountLike,
  buyerCurrencyOf,
} from '../parts/buyer-amount-fields.tsx'
import { DialogForm } from '../parts/dialog-form.tsx'
import { Checkbox, Field, Select } from '../parts/field.tsx'
import { COIN_NAMES, COINS } from '../parts/money.ts'
import { faultOf } from '../parts/note.tsx'
import { TOTAL_FAULTS, type Total, TotalFields, totalBody, totalLike } from '../parts/total-fields.tsx'
import { isWindow, WINDOW_LABELS, WINDOWS } from '../parts/windows.ts'

/** Asks for what a new link needs; `like` fills in another one's. */
export function NewLinkDialog({ like, onClose }: { like?: PaymentLink; onClose: () => void }) {
  const navigate = useNavigate()
  const [form, setForm] = useState({
    name: like?.name ?? '',
    total: null as Total | null,
    asset: like?.asset ?? '',
    minutes: String(like?.duration_minutes ?? ''),
    isDynamic: like?.allow_dynamic_amount ?? false,
    buyer: buyerAmountLike(like),
  })
  const set = (name: 'name' | 'asset' | 'minutes') => (event: { target: { value: string } }) =>
    setForm((old) => ({ ...old, [name]: event.target.value }))
  const make = useChange<CreatePaymentLink, PaymentLink>((body) => ({ path: '/payment-links', body }), {
    done: 'Payment link created',
    onDone: ({ id }) => {
      onClose()
      void navigate({ to: '/links/$id', params: { id } })
    },
  })
  const minutes = Number(form.minutes)
  const home = useHomeCurrency()
  const total = form.total ?? totalLike(like, buyerCurrencyOf(like) ?? home)
  const body: CreatePaymentLink = {
    name: form.name.trim(),
    allow_dynamic_amount: form.isDynamic,
    ...totalBody(total),
    ...(form.isDynamic ? buyerAmountBody(form.buyer, total.currency) : {}),
    ...(form.asset === '' ? {} : { asset: form.asset as AssetName }),
    ...(isWindow(minutes) ? { duration_minutes: minutes } : {}),
  }
  return (
    <DialogForm
      title={like === undefined ? 'New payment link' : 'Duplicate payment link'}
      action="Create link"
      change={make}
      faults={['name', ...TOTAL_FAULTS, ...BUYER_FAULTS, 'asset', 'duration_minutes']}
      onClose={onClose}
      onSubmit={() => make.mutate(body)}
    >
      <Field
        label="Product or description"
        required
        maxLength={120}
        value={form.name}
        onChange={set('name')}
        fault={faultOf(make.error, 'name')}
      />
      <Checkbox
        label="Let buyers choose the amount"
        hint="For tips, donations and top-ups, and for a shop that sets the amount of each order."
        checked={form.isDynamic}
        onChange={(event) => setForm((old) => ({ ...old, isDynamic: event.target.checked }))}
      />
      <TotalFields
        total={total}
        onChange={(next) => setForm((old) => ({ ...old, total: next }))}
        required={!form.isDynamic}
        hint={form.isDynamic ? 'Optional. The page begins with it; buyers can choose another.' : undefined}
        error={make.error}
      />
      {form.isDynamic ? (
        <BuyerAmountFields
          typed={form.buyer}
          currency={total.currency}
          onChange={(buyer) => setForm((old) => ({ ...old, buyer }))}
          error={make.error}
        />
      ) : null}
      <Select
        label="Default coin"
        value={form.asset}
        onChange={set('asset')}
        fault={faultOf(make.error, 'asset')}
      >
        <option value="">Account default</option>
        {COIN_NAMES.map((coin) => (
          <option key={coin} value={coin}>
            {COINS[coin].name}
          </option>
        ))}
      </Select>
      <TimeToPay value={form.minutes} onChange={set('minutes')} error={make.error} />
    </DialogForm>
  )
}

function TimeToPay({
  error,
  ...field
}: {
  value: string
  onChange: (event: { target: { value: string } }) => void
  error: Error | null
}) {
  return (
    <Select label="Time to pay" fault={faultOf(error, 'duration_minutes')} {...field}>
      <option value="">Account default</option>
      {WINDOWS.map((window) => (
        <option key={window} value={window}>
          {WINDOW_LABELS[window]}
        </option>
      ))}
    </Select>
  )
}
