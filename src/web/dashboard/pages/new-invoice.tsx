import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { ASSETS, isToken } from '../../../core/assets.ts'
import { assetsOf } from '../api/reads.ts'
import type { Asset, CreateInvoice, Invoice } from '../api/types.ts'
import { useChange } from '../app/changes.ts'
import { useHomeCurrency } from '../app/home-currency.ts'
import { useMode } from '../app/session.ts'
import { DialogForm } from '../parts/dialog-form.tsx'
import { Checkbox, Field, Select } from '../parts/field.tsx'
import { faultOf } from '../parts/note.tsx'
import { TOTAL_FAULTS, type Total, TotalFields, totalBody, totalLike } from '../parts/total-fields.tsx'

type Form = {
  /** Null until something is typed. */
  readonly total: Total | null
  readonly asset: string
  readonly reference: string
  readonly description: string
  readonly email: string
  readonly canChoose: boolean
}

type SetText = (
  name: Exclude<keyof Form, 'canChoose' | 'total'>,
) => (event: { target: { value: string } }) => void

const chosenOf = (available: readonly Asset[], wanted: string) =>
  available.find(({ asset }) => asset === wanted) ?? available.find((one) => one.is_default) ?? available[0]

/** Every dollar token on every network that can be paid now, in place of one coin. */
const ANY_DOLLARS = 'USD'

/** Their tickers, where there are several tokens to choose among. */
function dollarTickers(available: readonly Asset[]): readonly string[] {
  const tokens = available.filter(({ asset }) => isToken(asset))
  return tokens.length < 2 ? [] : [...new Set(tokens.map(({ asset }) => ASSETS[asset].symbol))]
}

const bodyOf = (
  { total, reference, description, email, canChoose }: Form & { total: Total },
  asset: CreateInvoice['asset'],
  metadata: Invoice['metadata'] | undefined,
): CreateInvoice => ({
  ...totalBody(total),
  allow_asset_selection: canChoose,
  ...(asset === undefined ? {} : { asset }),
  ...(reference === '' ? {} : { external_reference: reference }),
  ...(description === '' ? {} : { description }),
  ...(email === '' ? {} : { customer_email: email.trim() }),
  ...(metadata == null ? {} : { metadata }),
})

/** Asks for what a new invoice needs; `like` fills in another one's. */
export function NewInvoiceDialog({ like, onClose }: { like?: Invoice; onClose: () => void }) {
  const mode = useMode()
  const navigate = useNavigate()
  const assets = useQuery(assetsOf(mode))
  const available = (assets.data?.data ?? []).filter((asset) => asset.available)
  const [form, setForm] = useState<Form>({
    total: null,
    // An API of the release before knows no rates of tokens.
    asset: (like?.token_rates?.length ?? 0) > 0 ? ANY_DOLLARS : (like?.asset ?? ''),
    reference: '',
    description: like?.description ?? '',
    email: like?.customer_email ?? '',
    canChoose: like?.allow_asset_selection ?? true,
  })
  const set: SetText = (name) => (event) => setForm((old) => ({ ...old, [name]: event.target.value }))
  const home = useHomeCurrency()
  const total = form.total ?? totalLike(like, home)
  const tickers = dollarTickers(available)
  const chosen =
    form.asset === ANY_DOLLARS && tickers.length > 0 ? ANY_DOLLARS : chosenOf(available, form.asset)?.asset
  const make = useChange<CreateInvoice, Invoice>((body) => ({ path: '/invoices', body }), {
    done: 'Invoice created',
    onDone: ({ id }) => {
      onClose()
      void navigate({ to: '/invoices/$id', params: { id } })
    },
  })
  return (
    <DialogForm
      title={like === undefined ? 'New invoice' : 'Duplicate invoice'}
      action="Create invoice"
      change={make}
      faults={[...TOTAL_FAULTS, 'asset', 'description', 'external_reference', 'customer_email']}
      onClose={onClose}
      onSubmit={() => {
        make.mutate(bodyOf({ ...form, total }, chosen, like?.metadata))
      }}
    >
      <TotalFields
        total={total}
        onChange={(next) => setForm((old) => ({ ...old, total: next }))}
        error={make.error}
      />
      <Select
        label="Default coin"
        value={chosen ?? ''}
        onChange={set('asset')}
        fault={faultOf(make.error, 'asset')}
      >
        {available.map(({ asset, name, network }) => (
          <option key={asset} value={asset}>
            {name} · {network}
          </option>
        ))}
        {tickers.length > 0 ? (
          <option value={ANY_DOLLARS}>US dollars · {tickers.join(', ')} on any network</option>
        ) : null}
      </Select>
      <Checkbox
        label="The buyer may choose another coin"
        checked={form.canChoose}
        onChange={(event) => setForm((old) => ({ ...old, canChoose: event.target.checked }))}
      />
      <TextFields form={form} set={set} error={make.error} />
    </DialogForm>
  )
}

/** What is written about the invoice, none of it required. */
function TextFields({ form, set, error }: { form: Form; set: SetText; error: Error | null }) {
  return (
    <>
      <Field
        label="Description"
        hint="What the buyer pays for: shown on the page and the receipt. Optional."
        maxLength={500}
        value={form.description}
        onChange={set('description')}
        fault={faultOf(error, 'description')}
      />
      <Field
        label="Your reference"
        hint="An order number, for example. Optional."
        maxLength={255}
        value={form.reference}
        onChange={set('reference')}
        fault={faultOf(error, 'external_reference')}
      />
      <Field
        label="Buyer's email"
        type="email"
        hint="Optional."
        maxLength={254}
        value={form.email}
        onChange={set('email')}
        fault={faultOf(error, 'customer_email')}
      />
    </>
  )
}
