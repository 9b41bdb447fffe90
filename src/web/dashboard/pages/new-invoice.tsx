import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { assetsOf } from '../api/reads.ts'
import type { AssetName, CreateInvoice, Invoice } from '../api/types.ts'
import { useChange } from '../app/changes.ts'
import { useMode } from '../app/session.ts'
import { DialogForm } from '../parts/dialog-form.tsx'
import { Checkbox, Field, Select } from '../parts/field.tsx'
import { faultOf } from '../parts/note.tsx'

export function NewInvoiceDialog({ onClose }: { onClose: () => void }) {
  const mode = useMode()
  const navigate = useNavigate()
  const assets = useQuery(assetsOf(mode))
  const available = (assets.data?.data ?? []).filter((asset) => asset.available)
  const [form, setForm] = useState({ usd: '', asset: '', reference: '', email: '', canChoose: true })
  const set = (name: 'usd' | 'asset' | 'reference' | 'email') => (event: { target: { value: string } }) =>
    setForm((old) => ({ ...old, [name]: event.target.value }))
  const chosen =
    available.find(({ asset }) => asset === form.asset) ??
    available.find((one) => one.is_default) ??
    available[0]
  const make = useChange<CreateInvoice, Invoice>((body) => ({ path: '/invoices', body }), {
    done: 'Invoice created',
    onDone: ({ id }) => void navigate({ to: '/invoices/$id', params: { id } }),
  })
  const bodyOf = (asset: AssetName | undefined): CreateInvoice => ({
    usd_amount: form.usd.trim(),
    allow_asset_selection: form.canChoose,
    ...(asset === undefined ? {} : { asset }),
    ...(form.reference === '' ? {} : { external_reference: form.reference }),
    ...(form.email === '' ? {} : { customer_email: form.email.trim() }),
  })
  return (
    <DialogForm
      title="New invoice"
      action="Create invoice"
      change={make}
      faults={['usd_amount', 'customer_email']}
      onClose={onClose}
      onSubmit={() => {
        make.mutate(bodyOf(chosen?.asset))
      }}
    >
      <Field
        label="Amount in US dollars"
        inputMode="decimal"
        placeholder="49.99"
        pattern="(0|[1-9][0-9]{0,5})(\.[0-9]{1,2})?"
        title="A dollar amount such as 49.99"
        required
        value={form.usd}
        onChange={set('usd')}
        fault={faultOf(make.error, 'usd_amount')}
      />
      <Select label="Default coin" value={chosen?.asset ?? ''} onChange={set('asset')}>
        {available.map(({ asset, name, network }) => (
          <option key={asset} value={asset}>
            {name} · {network}
          </option>
        ))}
      </Select>
      <Checkbox
        label="The buyer may choose another coin"
        checked={form.canChoose}
        onChange={(event) => setForm((old) => ({ ...old, canChoose: event.target.checked }))}
      />
      <Field
        label="Your reference"
        hint="An order number, for example. Optional."
        maxLength={255}
        value={form.reference}
        onChange={set('reference')}
      />
      <Field
        label="Buyer's e-mail"
        type="email"
        hint="Optional."
        maxLength={254}
        value={form.email}
        onChange={set('email')}
        fault={faultOf(make.error, 'customer_email')}
      />
    </DialogForm>
  )
}
