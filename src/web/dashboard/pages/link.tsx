import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useState } from 'react'
import { invoicesOf, linkOf, sessionsOf } from '../api/reads.ts'
import type {
  CheckoutSession,
  CreateCheckoutSession,
  Invoice,
  PaymentLink,
  UpdatePaymentLink,
} from '../api/types.ts'
import { useChange } from '../app/changes.ts'
import { useHomeCurrency } from '../app/home-currency.ts'
import { useMode } from '../app/session.ts'
import { useToast } from '../app/toasts.tsx'
import { Badge, StatusBadge } from '../parts/badge.tsx'
import { Button } from '../parts/button.tsx'
import { CopyField, Snippet } from '../parts/copy.tsx'
import type { CsvColumn } from '../parts/csv.ts'
import { CsvButton } from '../parts/csv-button.tsx'
import { Field } from '../parts/field.tsx'
import { invoiceAmount, invoiceName } from '../parts/invoice-title.ts'
import { COINS, money, totalOf } from '../parts/money.ts'
import { ProblemNote } from '../parts/note.tsx'
import { Card, Facts, Page } from '../parts/page.tsx'
import { Pager, pageQuery } from '../parts/pager.tsx'
import { ResourcePage } from '../parts/read.tsx'
import { Share } from '../parts/share.tsx'
import { type Column, DataTable, Narrow } from '../parts/table.tsx'
import { Time } from '../parts/time.tsx'
import { type Total, TotalFields, totalBody, totalLike } from '../parts/total-fields.tsx'
import { NewLinkDialog } from './new-link.tsx'
import { TillCards } from './till.tsx'

const route = getRouteApi('/inside/links/$id')

export function LinkPage() {
  const { id } = route.useParams()
  const mode = useMode()
  const read = useQuery(linkOf(mode, id))
  return (
    <ResourcePage kind="Payment link" read={read}>
      {(link) => <Shown link={link} />}
    </ResourcePage>
  )
}

function Shown({ link }: { link: PaymentLink }) {
  return (
    <Page
      title={link.name}
      lead={link.active ? <Badge tone="good">Active</Badge> : <Badge tone="quiet">Inactive</Badge>}
      actions={<Switch link={link} />}
    >
      <div className="stack large">
        {link.till == null ? <ShareCard link={link} /> : <TillCards link={link} till={link.till} />}
        <Invoices link={link} />
        <Card title="Details">
          <Facts
            facts={[
              ['Amount', amountOf(link)],
              ...(link.buyer_amount ? [['Buyers may pay', buyersMayPay(link.buyer_amount)] as const] : []),
              ['Default coin', link.asset === null ? 'Account default' : COINS[link.asset].name],
              [
                'Time to pay',
                link.duration_minutes === null ? 'Account default' : `${link.duration_minutes} minutes`,
              ],
              ['ID', <code key="id">{link.id}</code>],
              ['Created', <Time key="made" at={link.created_at} />],
            ]}
          />
        </Card>
        {link.allow_dynamic_amount && link.till == null ? <Sessions link={link} /> : null}
      </div>
    </Page>
  )
}

function ShareCard({ link }: { link: PaymentLink }) {
  return (
    <Card title="Share">
      <div className="stack">
        <CopyField label="Link" text={link.url} />
        <div className="actions">
          <Share url={link.url} subject={link.name} />
        </div>
        <Snippet
          label="Embed code"
          code={`<script src="${window.location.origin}/embed.js" async></script>
<div data-paylink-link="${link.slug}" data-label="Pay with crypto"></div>`}
        />
      </div>
    </Card>
  )
}

function amountOf(link: PaymentLink): string {
  if (link.till != null) return 'What staff enter at the till'

  const charged = totalOf(link)
  if (charged === null) return 'The buyer enters it, unless an order sets it'
  return link.allow_dynamic_amount ? `${charged} suggested; the buyer can enter another` : charged
}

/** `€2.00 to €500.00, suggested €5.00, €10.00`. */
function buyersMayPay({ currency, minimum, maximum, suggested }: NonNullable<PaymentLink['buyer_amount']>) {
  const text = (amount: string) => money({ amount, currency })
  return [
    ...(minimum === null ? [] : [`from ${text(minimum)}`]),
    ...(maximum === null ? [] : [`up to ${text(maximum)}`]),
    ...(suggested.length === 0 ? [] : [`suggested: ${suggested.map(text).join(', ')}`]),
  ].join(', ')
}

const LATEST = '10'

/** What buyers made of the link, newest first. */
function Invoices({ link }: { link: PaymentLink }) {
  const latest = useQuery(invoicesOf(useMode(), { payment_link_id: link.id, limit: LATEST }))
  return (
    <Card
      title="Invoices"
      actions={
        <Link to="/invoices" search={({ mode }) => ({ mode, link: link.id })}>
          Show all
        </Link>
      }
    >
      <DataTable
        caption="Latest invoices of this link"
        columns={COLUMNS}
        read={latest}
        empty={
          <p className="quiet">
            {link.till == null
              ? 'None yet. Each buyer who chooses a coin gets an invoice of their own.'
              : 'None yet. Each sale at the till is an invoice of its own.'}
          </p>
        }
      />
    </Card>
  )
}

const COLUMNS: readonly Column<Invoice>[] = [
  {
    title: 'Invoice',
    cell: (invoice) => (
      <>
        <Link to="/invoices/$id" params={{ id: invoice.id }} className="row-link" preload="intent">
          {invoiceName({ ...invoice, payment_link_name: null })}
        </Link>
        <Narrow>
          <StatusBadge invoice={invoice} /> <Time at={invoice.created_at} />
        </Narrow>
      </>
    ),
  },
  { title: 'Status', wide: true, cell: (invoice) => <StatusBadge invoice={invoice} /> },
  { title: 'Amount', align: 'end', cell: invoiceAmount },
  { title: 'Created', wide: true, cell: ({ created_at }) => <Time at={created_at} /> },
]

/** On or off: nothing is lost by either, so that it is done at once and can be undone. */
function Switch({ link }: { link: PaymentLink }) {
  const [isCopying, setIsCopying] = useState(false)
  const toast = useToast()
  const change = useChange<UpdatePaymentLink, PaymentLink>(
    (body) => ({ method: 'PATCH', path: `/payment-links/${link.id}`, body }),
    {
      onDone: ({ active }) =>
        toast(active ? 'Link activated' : 'Link deactivated. Open checkouts can still be paid.', {
          label: 'Undo',
          run: () => change.mutate({ active: !active }),
        }),
    },
  )
  return (
    <>
      <a className="button plain" href={link.url} target="_blank" rel="noopener">
        {link.till == null ? 'Preview' : 'Open till'}
      </a>
      {link.till == null ? <Button onClick={() => setIsCopying(true)}>Duplicate</Button> : null}
      <Button busy={change.isPending} onClick={() => change.mutate({ active: !link.active })}>
        {link.active ? 'Deactivate' : 'Activate'}
      </Button>
      <ProblemNote error={change.error} />
      {isCopying ? <NewLinkDialog like={link} onClose={() => setIsCopying(false)} /> : null}
    </>
  )
}

const SESSIONS = {
  active: { label: 'Open', tone: 'busy' },
  completed: { label: 'Paid', tone: 'good' },
  expired: { label: 'Expired', tone: 'quiet' },
  cancelled: { label: 'Cancelled', tone: 'quiet' },
} as const
const SESSION_COLUMNS: readonly Column<CheckoutSession>[] = [
  {
    title: 'Order',
    cell: ({ order_reference, invoice_id }) =>
      invoice_id === null ? (
        <span className="break">{order_reference}</span>
      ) : (
        <Link to="/invoices/$id" params={{ id: invoice_id }} className="row-link">
          {order_reference}
        </Link>
      ),
  },
  {
    title: 'Status',
    cell: ({ status }) => <Badge tone={SESSIONS[status].tone}>{SESSIONS[status].label}</Badge>,
  },
  { title: 'Total', align: 'end', cell: (session) => totalOf(session) },
  { title: 'Until', wide: true, cell: ({ expires_at }) => <Time at={expires_at} /> },
]

/** Without their URLs, by which anybody pays. */
const SESSION_CSV_COLUMNS: readonly CsvColumn<CheckoutSession>[] = [
  ['id', ({ id }) => id],
  ['order_reference', ({ order_reference }) => order_reference],
  ['usd_amount', ({ usd_amount }) => usd_amount],
  ['status', ({ status }) => status],
  ['invoice_id', ({ invoice_id }) => invoice_id],
  ['created_at', ({ created_at }) => created_at],
  ['expires_at', ({ expires_at }) => expires_at],
  ['price_amount', ({ price }) => price?.amount ?? null],
  ['price_currency', ({ price }) => price?.currency ?? null],
]

/** One checkout an order: made by the shop's server, or here to try it. */
function Sessions({ link }: { link: PaymentLink }) {
  const mode = useMode()
  const position = route.useSearch()
  const sessions = useQuery(sessionsOf(mode, link.id, pageQuery(position)))
  return (
    <Card
      title="Checkout sessions"
      actions={
        <CsvButton
          name="checkout-sessions"
          path={`/payment-links/${link.id}/checkout-sessions`}
          query={{}}
          columns={SESSION_CSV_COLUMNS}
        />
      }
    >
      <div className="stack">
        <NewSession link={link} />
        <DataTable
          caption="Checkout sessions, newest first"
          columns={SESSION_COLUMNS}
          read={sessions}
          empty={
            <Snippet
              label="From your server: one session for each order"
              code={`curl ${window.location.origin}/api/v1/payment-links/${link.id}/checkout-sessions \\
  -H 'authorization: Bearer sk_${mode}_…' -H 'content-type: application/json' \\
  -d '{"order_reference":"order-1001","usd_amount":"49.99"}'`}
            />
          }
        />
        <Pager list={sessions.data} position={position} />
      </div>
    </Card>
  )
}

function NewSession({ link }: { link: PaymentLink }) {
  const [order, setOrder] = useState('')
  const [typed, setTotal] = useState<Total | null>(null)
  const home = useHomeCurrency()
  const total = typed ?? totalLike(undefined, home)
  const make = useChange<CreateCheckoutSession, CheckoutSession>(
    (body) => ({ path: `/payment-links/${link.id}/checkout-sessions`, body }),
    {
      done: ({ replayed }) => (replayed ? 'This order already has a checkout.' : 'Checkout created'),
    },
  )
  return (
    <form
      className="row-form"
      onSubmit={(event) => {
        event.preventDefault()
        make.mutate({ order_reference: order, ...totalBody(total) })
      }}
    >
      <Field
        label="Order"
        required
        maxLength={255}
        value={order}
        onChange={(event) => setOrder(event.target.value)}
      />
      <TotalFields label="Total" total={total} onChange={setTotal} error={make.error} />
      <Button type="submit" busy={make.isPending}>
        Create checkout
      </Button>
      <ProblemNote error={make.error} />
      {make.data === undefined ? null : (
        <>
          <CopyField label="Send the buyer here" text={make.data.checkout_url} />
          <div className="actions">
            <Share url={make.data.checkout_url} subject={`${link.name}: ${make.data.order_reference}`} />
          </div>
        </>
      )}
    </form>
  )
}
