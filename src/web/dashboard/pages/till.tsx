import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { type ReactNode, useRef, useState } from 'react'
import { typedAmount } from '../../../core/money.ts'
import { currencyDecimals } from '../../../core/rates/currencies.ts'
import { merchantOf } from '../api/reads.ts'
import { Problem } from '../api/request.ts'
import type {
  CreatePaymentLink,
  PaymentLink,
  StaffCode,
  TillPicture,
  UpdatePaymentLink,
  UploadTillPicture,
} from '../api/types.ts'
import { useChange } from '../app/changes.ts'
import { useHomeCurrency } from '../app/home-currency.ts'
import { useMode } from '../app/session.ts'
import { Button } from '../parts/button.tsx'
import { Confirm } from '../parts/confirm.tsx'
import { CopyField } from '../parts/copy.tsx'
import { DialogForm } from '../parts/dialog-form.tsx'
import { Field, TextArea } from '../parts/field.tsx'
import { money } from '../parts/money.ts'
import { faultOf, ProblemNote } from '../parts/note.tsx'
import { Card, Facts } from '../parts/page.tsx'
import { NO_PICTURE, PICTURE_TYPES, pictureOf } from '../parts/picture.ts'
import { SecretDialog } from '../parts/secret.tsx'
import { Share } from '../parts/share.tsx'
import { CurrencySelect, type Total } from '../parts/total-fields.tsx'

type Till = NonNullable<PaymentLink['till']>

/** Each line is a name and, after its last space, a price. What is wrong with it is the API's to say. */
const itemsIn = (text: string, currency: Total['currency']): Till['items'] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .map((line) => {
      const [, name = line, amount = ''] = /^(.*\S)\s+(\S+)$/.exec(line) ?? []
      return { name, amount: typedAmount(amount, currencyDecimals(currency)) }
    })

const tipsIn = (text: string): number[] =>
  text
    .split(/[\s,%]+/)
    .filter((tip) => tip !== '')
    .map(Number)

/** What the API refuses of the items or the tips, with the line that it is about. */
function faultIn(error: unknown, list: 'items' | 'tips', text: string): string | null {
  if (!(error instanceof Problem)) return null
  const [, named, at] = /^till(?:\.(items|tips)\D?([0-9]*))?/.exec(error.param ?? '') ?? []
  if (named !== list) return null
  if (at === '' || list === 'tips') return error.message
  // Empty lines are no items, and lines all the same to who counts them.
  const lines = text.split('\n').flatMap((line, index) => (line.trim() === '' ? [] : [index + 1]))
  return `Line ${lines[Number(at)] ?? Number(at) + 1}: ${error.message}`
}

/** Payments at a counter take minutes. */
const MINUTES = 15

/** Asks for what a till sells; `of` is the till that is changed. A new one gets its staff code at once. */
export function TillDialog({ of, onClose }: { of?: PaymentLink; onClose: () => void }) {
  const navigate = useNavigate()
  const home = useHomeCurrency()
  const [form, setForm] = useState({
    name: of?.name ?? '',
    items: (of?.till?.items ?? []).map(({ name, amount }) => `${name} ${amount}`).join('\n'),
    tips: of === undefined ? '' : (of.till?.tips ?? []).join(', '),
    currency: of?.till?.currency as typeof home | undefined,
  })
  const set = (name: 'name' | 'items' | 'tips') => (event: { target: { value: string } }) =>
    setForm((old) => ({ ...old, [name]: event.target.value }))
  const code = useStaffCode()
  const make = useChange<CreatePaymentLink, PaymentLink>((body) => ({ path: '/payment-links', body }), {
    onDone: ({ id }) => code.mutate(id),
  })
  const change = useChange<UpdatePaymentLink, PaymentLink>(
    (body) => ({ method: 'PATCH', path: `/payment-links/${of?.id}`, body }),
    { done: 'Till changed. Open tills show it when they are loaded again.', onDone: onClose },
  )
  const currency = form.currency ?? home
  const pictures = new Map(of?.till?.items.map(({ name, picture }) => [name, picture]))
  const items = itemsIn(form.items, currency).map((item) => ({ ...item, picture: pictures.get(item.name) }))
  const tips = tipsIn(form.tips)
  const error = make.error ?? change.error ?? code.error
  const made = make.data
  if (made !== undefined && code.data !== undefined) {
    const onRead = () => {
      onClose()
      void navigate({ to: '/links/$id', params: { id: made.id } })
    }
    return <StaffCodeDialog code={code.data.staff_code} onClose={onRead} />
  }
  const body = { name: form.name.trim(), till: { currency, items, tips } }
  const submit = () => {
    if (of !== undefined) change.mutate(body)
    else if (made !== undefined) code.mutate(made.id)
    else make.mutate({ ...body, allow_dynamic_amount: true, duration_minutes: MINUTES })
  }
  return (
    <DialogForm
      title={of === undefined ? 'New till' : 'Edit till'}
      action={of === undefined ? 'Create till' : 'Save'}
      change={{ error, isPending: make.isPending || change.isPending || code.isPending }}
      faults={error instanceof Problem && error.param !== null && error.param !== 'till' ? [error.param] : []}
      onClose={onClose}
      onSubmit={submit}
    >
      <Field
        label="Name"
        hint="Such as the counter or the stall. Customers see it where a sale has no items."
        required
        maxLength={120}
        value={form.name}
        onChange={set('name')}
        fault={faultOf(error, 'name')}
      />
      <CurrencySelect
        label="Currency"
        currency={currency}
        onChange={(chosen) => setForm((old) => ({ ...old, currency: chosen }))}
        fault={faultOf(error, 'till.currency')}
      />
      <TextArea
        label="Items"
        hint="Optional, at most 60. One a line: the name, a space, the price."
        rows={6}
        placeholder={'Espresso 2.20\nBanana bread 3.90'}
        value={form.items}
        onChange={set('items')}
        fault={faultIn(error, 'items', form.items)}
      />
      <Field
        label="Tips in percent"
        hint="Optional, at most four. Without any, the till asks for no tip."
        placeholder="5, 10, 15"
        value={form.tips}
        onChange={set('tips')}
        fault={faultIn(error, 'tips', form.tips)}
      />
    </DialogForm>
  )
}

const useStaffCode = () =>
  useChange<string, StaffCode>((id) => ({ path: `/payment-links/${id}/renew-staff-code`, body: {} }))

function StaffCodeDialog({ code, onClose }: { code: string; onClose: () => void }) {
  return (
    <SecretDialog
      title="Staff code"
      label="Staff sign in at the till with it"
      secret={`${code.slice(0, 4)} ${code.slice(4)}`}
      advice="Tell it to those who sell. With it they can sell and see what the till took today, and nothing else."
      onClose={onClose}
    />
  )
}

/** What the page of a link that is a till has in place of a buyers' link. */
export function TillCards({ link, till }: { link: PaymentLink; till: Till }) {
  const [shown, setShown] = useState<'edit' | 'code' | null>(null)
  const code = useStaffCode()
  const close = () => setShown(null)
  const { currency, items, tips } = till
  return (
    <>
      <Card title="Open the till">
        <div className="stack">
          <p>Scan the QR code with the phone that is to be the till, and sign in with the staff code.</p>
          <CopyField label="Till" text={link.url} />
          <div className="actions">
            <Share url={link.url} subject={link.name} />
            <Button small onClick={() => setShown('code')}>
              New staff code
            </Button>
          </div>
        </div>
      </Card>
      <Card title="What it sells" actions={<Button onClick={() => setShown('edit')}>Edit</Button>}>
        <Facts
          facts={[
            ...items.map(({ name, amount }, at) => {
              const price = money({ amount, currency })
              return [name, <PricedItem key={name} {...{ link, till, at, price }} />] as const
            }),
            ['Keypad', `Any amount in ${currency}`],
            ['Tips', tips.length === 0 ? 'Not asked for' : tips.map((tip) => `${tip}%`).join(', ')],
          ]}
        />
      </Card>
      {shown === 'edit' ? <TillDialog of={link} onClose={close} /> : null}
      {shown === 'code' ? (
        <Confirm
          title="New staff code"
          action="Create code"
          onConfirm={() => code.mutateAsync(link.id)}
          onClose={close}
        >
          <p>Everyone who is signed in at this till is signed out, and the old code stops working.</p>
        </Confirm>
      ) : null}
      {code.data === undefined ? null : <StaffCodeDialog code={code.data.staff_code} onClose={code.reset} />}
    </>
  )
}

/** Twice and a half the side at which a till shows it. */
const PICTURE = { width: 144, height: 144, isSquare: true }

/** An item's price, and its picture, which is changed in place. */
function PricedItem({
  link,
  till,
  at,
  price,
}: {
  link: PaymentLink
  till: Till
  at: number
  price: ReactNode
}) {
  const input = useRef<HTMLInputElement>(null)
  const [fault, setFault] = useState<string | null>(null)
  const merchant = useQuery(merchantOf(useMode())).data
  const change = useChange<string | undefined, PaymentLink>((picture) => {
    const items = till.items.map((item, place) => (place === at ? { ...item, picture } : item))
    return { method: 'PATCH', path: `/payment-links/${link.id}`, body: { till: { ...till, items } } }
  })
  const upload = useChange<UploadTillPicture, TillPicture>((body) => ({ path: '/till-pictures', body }), {
    onDone: ({ digest }) => change.mutate(digest),
  })
  const choose = async (file: File | undefined) => {
    if (file === undefined) return
    const picture = await pictureOf(file, PICTURE)
    setFault(picture === null ? NO_PICTURE : null)
    if (picture !== null) upload.mutate({ picture })
  }
  const { name, picture } = till.items[at] ?? {}
  const [action, press] =
    picture === undefined
      ? ['Add picture', () => input.current?.click()]
      : ['Remove picture', () => change.mutate(undefined)]
  return (
    <div className="stack">
      <div className="actions">
        {price}
        {picture === undefined || merchant === undefined ? null : (
          <img className="logo" src={`/logo/${merchant.id}/${picture}.webp`} alt="" />
        )}
        <Button
          small
          busy={upload.isPending || change.isPending}
          aria-label={`${action}: ${name}`}
          onClick={press}
        >
          {action}
        </Button>
        <input
          ref={input}
          type="file"
          hidden
          accept={PICTURE_TYPES}
          onChange={(event) => {
            void choose(event.target.files?.[0])
            // The same file may be chosen again.
            event.target.value = ''
          }}
        />
      </div>
      {fault === null ? null : (
        <p className="fault" role="alert">
          {fault}
        </p>
      )}
      <ProblemNote error={upload.error ?? change.error} />
    </div>
  )
}
