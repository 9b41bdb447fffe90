import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import { apiKeysOf, assetsOf, endpointsOf, eventsOf, invoicesOf, linksOf } from '../api/reads.ts'
import type {
  CreateApiKey,
  CreatedApiKey,
  CreateInvoice,
  Invoice,
  PaymentLink,
  Scenario,
  TestPayment,
} from '../api/types.ts'
import { useChange } from '../app/changes.ts'
import { FIRST_KEY, firstInvoiceIn, firstKeyOf, listenCommand } from '../app/first-steps.ts'
import { useIsWithoutNetworks } from '../app/live-networks.ts'
import { useAccount, useMode } from '../app/session.ts'
import { Button } from '../parts/button.tsx'
import { CopyField, PostSnippet, Snippet } from '../parts/copy.tsx'
import { Icon } from '../parts/icons.tsx'
import { ProblemNote } from '../parts/note.tsx'
import { Card } from '../parts/page.tsx'
import { NewLinkDialog } from './new-link.tsx'

/** The way from nothing to the first paid invoice, ticked off by what really happened: without a developer first. */
export function Checklist() {
  const mode = useMode()
  const links = useQuery(linksOf(mode, { limit: '1' }))
  const keys = useQuery(apiKeysOf(mode, { limit: '1' }))
  const invoices = useQuery(invoicesOf(mode, { limit: '1' }))
  const paid = useQuery(eventsOf(mode, { event_type: 'invoice.paid', limit: '1' }))
  const endpoints = useQuery(endpointsOf(mode))
  const { merchantId } = useAccount()
  const [created, setCreated] = useState<string | null>(null)
  const key = created ?? (mode === 'test' ? firstKeyOf(merchantId) : null)
  const reads = [links, keys, invoices, paid, endpoints]
  if (reads.some(({ data }) => data === undefined)) return null
  const has = (read: { data: { data: readonly unknown[] } | undefined }) => (read.data?.data.length ?? 0) > 0
  const isVerified = endpoints.data?.data.some(({ status }) => status === 'enabled') === true
  const done = {
    link: has(links) || has(invoices),
    paid: has(paid),
    key: has(keys),
    invoice: has(invoices),
    webhooks: isVerified,
  }
  const count = Object.values(done).filter(Boolean).length
  const total = Object.keys(done).length
  // Who has all of it needs no list; a key just made is shown until they leave.
  if (count === total && key === null) return null
  const first = invoices.data?.data[0]
  return (
    <Card>
      {/* Whoever was paid once runs a shop: then the figures matter, and the rest of the list waits folded up. */}
      <details className="checklist-card" open={!done.paid || key !== null}>
        <summary>
          <h2>{mode === 'test' ? 'Your first payment, in five minutes' : 'Go live'}</h2>
          <span className="quiet" role="status">
            {count} of {total} done
          </span>
        </summary>
        <ol className="checklist">
          <Step title="Create a payment link" isDone={done.link} stays={key !== null}>
            <LinkStep example={links.data?.data[0]} isDone={done.link} />
          </Step>
          <Step title={mode === 'test' ? 'Pay it with test coins' : 'Get paid'} isDone={done.paid}>
            {first === undefined ? (
              <p className="quiet">
                Open your link and choose a coin, as a buyer would. That creates the invoice.
              </p>
            ) : (
              <PayStep invoice={first} />
            )}
          </Step>
        </ol>
        <h3>For your developer</h3>
        <ol className="checklist">
          <Step title="Create an API key" isDone={done.key} stays={key !== null}>
            <KeyStep secret={key} hasKey={done.key} onCreated={setCreated} />
          </Step>
          <Step title="Create your first invoice" isDone={done.invoice} stays={key !== null}>
            <InvoiceStep secret={key} />
          </Step>
          <Step title="Set up webhooks" isDone={done.webhooks}>
            <WebhookStep />
          </Step>
        </ol>
        {paid.data?.data[0] === undefined ? null : <FirstPaid eventId={paid.data.data[0].id} />}
      </details>
    </Card>
  )
}

/** One step. What is done folds up, but for what is shown once and never again. */
function Step({
  title,
  isDone,
  stays = false,
  children,
}: {
  title: string
  isDone: boolean
  stays?: boolean
  children: ReactNode
}) {
  return (
    <li className={isDone ? 'done' : undefined}>
      <span className="tick">{isDone ? <Icon name="check" /> : null}</span>
      <div className="stack">
        <h3>
          {title}
          {isDone ? <span className="unseen">, done</span> : null}
        </h3>
        {isDone && !stays ? null : children}
      </div>
    </li>
  )
}

/** `example`: a link that the shop has already. */
function LinkStep({ example, isDone }: { example: PaymentLink | undefined; isDone: boolean }) {
  const isWithoutNetworks = useIsWithoutNetworks()
  const [isMaking, setIsMaking] = useState(false)
  return (
    <>
      <p className="quiet">Send it to a buyer, or put it on your page. It needs no developer.</p>
      <div className="actions">
        <Button
          look={isDone ? 'plain' : 'primary'}
          disabled={isWithoutNetworks}
          onClick={() => setIsMaking(true)}
        >
          Create a payment link
        </Button>
        {example === undefined ? null : (
          <Link className="button plain" to="/links/$id" params={{ id: example.id }}>
            Open “{example.name}”
          </Link>
        )}
      </div>
      {isMaking ? <NewLinkDialog onClose={() => setIsMaking(false)} /> : null}
    </>
  )
}

function KeyStep({
  secret,
  hasKey,
  onCreated,
}: {
  secret: string | null
  hasKey: boolean
  onCreated: (key: string) => void
}) {
  const { isManager } = useAccount()
  const make = useChange<CreateApiKey, CreatedApiKey>((body) => ({ path: '/api-keys', body }), {
    done: 'API key created. Copy it now: it is shown once.',
    onDone: ({ key }) => onCreated(key),
  })
  if (secret !== null) return <CopyField label="Your key. You won't be able to see it again" text={secret} />
  if (hasKey) return <p className="quiet">You have one. It is under Developers, API keys.</p>
  if (!isManager) return <p className="quiet">Ask an owner or admin of this shop for one.</p>
  return (
    <>
      <p className="quiet">Your server sends it with every request.</p>
      <div className="actions">
        <Button look="primary" busy={make.isPending} onClick={() => make.mutate(FIRST_KEY)}>
          Create an API key
        </Button>
      </div>
      <ProblemNote error={make.error} />
    </>
  )
}

function InvoiceStep({ secret }: { secret: string | null }) {
  const mode = useMode()
  const isWithoutNetworks = useIsWithoutNetworks()
  const assets = useQuery(assetsOf(mode))
  const body = firstInvoiceIn(assets.data?.data ?? [])
  const make = useChange<CreateInvoice, Invoice>((input) => ({ path: '/invoices', body: input }), {
    done: 'Invoice created',
  })
  const key = secret ?? (mode === 'test' ? 'sk_test_…' : 'sk_live_…')
  return (
    <>
      <PostSnippet path="/invoices" apiKey={key} body={body} />
      <div className="actions">
        <Button busy={make.isPending} disabled={isWithoutNetworks} onClick={() => make.mutate(body)}>
          {mode === 'test' ? 'Create a test invoice' : 'Create an invoice of $25'}
        </Button>
      </div>
      <ProblemNote error={make.error} />
    </>
  )
}

function PayStep({ invoice }: { invoice: Invoice }) {
  const mode = useMode()
  const pay = useChange<Scenario, TestPayment>(
    (scenario) => ({ path: `/test/invoices/${invoice.id}/pay`, body: { scenario } }),
    { done: 'The test payment is on its way.' },
  )
  return (
    <>
      <p className="quiet">
        {mode === 'test'
          ? 'Test coins cost nothing. The payment takes a few seconds, and everything after it works as with real money.'
          : 'Send your buyer the link of the invoice.'}
      </p>
      <div className="actions">
        {mode === 'test' && invoice.status === 'awaiting_payment' ? (
          <Button look="primary" busy={pay.isPending} onClick={() => pay.mutate('exact')}>
            Pay with test coins
          </Button>
        ) : null}
        <a className="button plain" href={invoice.checkout_url} target="_blank" rel="noopener">
          See what your buyer sees
        </a>
        <Link className="button plain" to="/invoices/$id" params={{ id: invoice.id }}>
          Open the invoice
        </Link>
      </div>
      <ProblemNote error={pay.error} />
    </>
  )
}

function WebhookStep() {
  const mode = useMode()
  const { merchantId } = useAccount()
  return (
    <>
      <p className="quiet">
        Paylink notifies your server of every change, signed, and retries until it has arrived.
        {mode === 'test' ? ' On your own machine one command stands in for an endpoint:' : ''}
      </p>
      {mode === 'test' ? (
        <Snippet label="Run in your Paylink directory" code={listenCommand(merchantId)} />
      ) : null}
      <div className="actions">
        <Link className="button plain" to="/developers/webhooks">
          Add a webhook endpoint
        </Link>
      </div>
    </>
  )
}

function FirstPaid({ eventId }: { eventId: string }) {
  return (
    <div className="note good" role="status">
      <Icon name="check" />
      <div>
        <p>
          <strong>invoice.paid</strong> happened: the money is on your balance.{' '}
          <Link to="/developers/events/$id" params={{ id: eventId }}>
            Look at the event
          </Link>
        </p>
      </div>
    </div>
  )
}
