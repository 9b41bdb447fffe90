import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { linksOf } from '../api/reads.ts'
import type { AssetName, CreatePaymentLink, PaymentLink } from '../api/types.ts'
import { useChange } from '../app/changes.ts'
import { useIsWithoutNetworks } from '../app/live-networks.ts'
import { useMode } from '../app/session.ts'
import { Badge } from '../parts/badge.tsx'
import { Button } from '../parts/button.tsx'
import { CopyButton, PostSnippet } from '../parts/copy.tsx'
import { DialogForm } from '../parts/dialog-form.tsx'
import { Checkbox, Field, Select } from '../parts/field.tsx'
import { COIN_NAMES, COINS, usd } from '../parts/money.ts'
import { faultOf } from '../parts/note.tsx'
import { Page } from '../parts/page.tsx'
import { Pager, pageQuery } from '../parts/pager.tsx'
import { type Column, DataTable, Empty } from '../parts/table.tsx'
import { isWindow, WINDOW_WORDS, WINDOWS } from '../parts/windows.ts'

const route = getRouteApi('/inside/links')

export function LinksPage() {
  const mode = useMode()
  const position = route.useSearch()
  const links = useQuery(linksOf(mode, pageQuery(position)))
  const isWithoutNetworks = useIsWithoutNetworks()
  const [isMaking, setIsMaking] = useState(false)
  const makeButton = (
    <Button look="primary" icon="plus" disabled={isWithoutNetworks} onClick={() => setIsMaking(true)}>
      New link
    </Button>
  )
  return (
    <Page title="Payment links" lead="Reusable links that anyone can pay." actions={makeButton}>
      <DataTable
        caption="Payment links, newest first"
        columns={COLUMNS}
        read={links}
        empty={
          <Empty title="No payment links yet">
            <p>
              Put one on your page, in an e-mail, or behind a button. Every buyer gets an invoice of their
              own.
            </p>
            {makeButton}
            <PostSnippet
              path="/payment-links"
              apiKey={`sk_${mode}_…`}
              body={{ name: 'Coffee', usd_amount: '4.50' }}
            />
          </Empty>
        }
      />
      <Pager list={links.data} position={position} />
      {isMaking ? <NewLinkDialog onClose={() => setIsMaking(false)} /> : null}
    </Page>
  )
}

const COLUMNS: readonly Column<PaymentLink>[] = [
  {
    title: 'Name',
    cell: ({ id, name }) => (
      <Link to="/links/$id" params={{ id }} className="row-link" preload="intent">
        {name}
      </Link>
    ),
  },
  {
    title: 'Amount',
    align: 'end',
    cell: ({ usd_amount, allow_dynamic_amount }) =>
      usd_amount === null && allow_dynamic_amount ? 'Dynamic' : usd(usd_amount),
  },
  { title: 'Coin', wide: true, cell: ({ asset }) => (asset === null ? 'Your default' : COINS[asset].name) },
  {
    title: 'State',
    cell: ({ active }) => (active ? <Badge tone="good">Active</Badge> : <Badge tone="quiet">Off</Badge>),
  },
  {
    title: 'Address',
    align: 'end',
    wide: true,
    cell: ({ url }) => <CopyButton text={url} label="Copy link" />,
  },
]

function NewLinkDialog({ onClose }: { onClose: () => void }) {
  const navigate = useNavigate()
  const [form, setForm] = useState({ name: '', usd: '', asset: '', minutes: '', isDynamic: false })
  const set = (name: 'name' | 'usd' | 'asset' | 'minutes') => (event: { target: { value: string } }) =>
    setForm((old) => ({ ...old, [name]: event.target.value }))
  const make = useChange<CreatePaymentLink, PaymentLink>((body) => ({ path: '/payment-links', body }), {
    done: 'The link is made.',
    onDone: ({ id }) => void navigate({ to: '/links/$id', params: { id } }),
  })
  const minutes = Number(form.minutes)
  const body: CreatePaymentLink = {
    name: form.name.trim(),
    allow_dynamic_amount: form.isDynamic,
    ...(form.usd.trim() === '' ? {} : { usd_amount: form.usd.trim() }),
    ...(form.asset === '' ? {} : { asset: form.asset as AssetName }),
    ...(isWindow(minutes) ? { duration_minutes: minutes } : {}),
  }
  return (
    <DialogForm
      title="New payment link"
      action="Create link"
      change={make}
      faults={['name', 'usd_amount', 'asset']}
      onClose={onClose}
      onSubmit={() => {
        make.mutate(body)
      }}
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
        label="Dynamic amount"
        hint="Amount set per order or by URL."
        checked={form.isDynamic}
        onChange={(event) => setForm((old) => ({ ...old, isDynamic: event.target.checked }))}
      />
      <Field
        label="Amount in US dollars"
        inputMode="decimal"
        placeholder="49.99"
        pattern="(0|[1-9][0-9]{0,5})(\.[0-9]{1,2})?"
        title="A dollar amount such as 49.99"
        required={!form.isDynamic}
        hint={form.isDynamic ? 'Optional: taken where no total is given.' : undefined}
        value={form.usd}
        onChange={set('usd')}
        fault={faultOf(make.error, 'usd_amount')}
      />
      <Select
        label="Default coin"
        value={form.asset}
        onChange={set('asset')}
        fault={faultOf(make.error, 'asset')}
      >
        <option value="">Your default coin of the moment</option>
        {COIN_NAMES.map((coin) => (
          <option key={coin} value={coin}>
            {COINS[coin].name}
          </option>
        ))}
      </Select>
      <Select label="Time to pay" value={form.minutes} onChange={set('minutes')}>
        <option value="">Account default</option>
        {WINDOWS.map((window) => (
          <option key={window} value={window}>
            {WINDOW_WORDS[window]}
          </option>
        ))}
      </Select>
    </DialogForm>
  )
}
