import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { ASSETS } from '../../../core/assets.ts'
import { typedAmount } from '../../../core/money.ts'
import { paymentRulesOf } from '../api/reads.ts'
import { Problem } from '../api/request.ts'
import type { PaymentRules, UpdatePaymentRules } from '../api/types.ts'
import { useSaveRules } from '../app/save-rules.ts'
import { useIsWithoutMail } from '../app/sends-mail.ts'
import { useMode } from '../app/session.ts'
import { Checkbox, Field, Select } from '../parts/field.tsx'
import { ManagerForm } from '../parts/manager-form.tsx'
import { COIN_NAMES, COINS } from '../parts/money.ts'
import { faultOf, Note } from '../parts/note.tsx'
import { Card, Page } from '../parts/page.tsx'
import { Read } from '../parts/read.tsx'
import { isWindow, WINDOW_LABELS, WINDOWS } from '../parts/windows.ts'
import { type BuyerEmailRules, BuyerEmailRulesCard, buyerEmailRulesOf } from './rules-buyer-emails.tsx'
import { TierCard, type Tiers } from './rules-tiers.tsx'
import { ToleranceCard } from './rules-tolerance.tsx'

export function RulesPage() {
  const mode = useMode()
  const rules = useQuery(paymentRulesOf(mode))
  // Of the page, so that what was opened stays open when the form is made anew with what was saved.
  const [isAdvanced, setIsAdvanced] = useState(false)
  return (
    <Page title="Payment rules" lead="Applies to new invoices. The payout limit applies at once.">
      <Read read={rules} lines={6}>
        {(known) => (
          <RulesForm
            key={JSON.stringify(known)}
            rules={known}
            isAdvanced={isAdvanced}
            onAdvanced={setIsAdvanced}
          />
        )}
      </Read>
    </Page>
  )
}

type Amounts = { readonly [coin: string]: string }
type Form = {
  readonly minutes: number
  readonly under: PaymentRules['tolerance_under']
  readonly over: PaymentRules['tolerance_over']
  readonly reopen: boolean
  readonly receipts: boolean
  readonly emails: BuyerEmailRules
  readonly funded: boolean
  readonly minimums: Amounts
  readonly limits: Amounts
  readonly tiers: Tiers
}

const formOf = (rules: PaymentRules): Form => ({
  minutes: rules.window_minutes,
  under: rules.tolerance_under,
  over: rules.tolerance_over,
  reopen: rules.reopen_expired,
  receipts: rules.receipt_emails,
  emails: buyerEmailRulesOf(rules),
  funded: rules.solana_funded_addresses,
  minimums: rules.minimums,
  limits: rules.payout_daily_limits,
  tiers: rules.confirmations,
})

/** As they were typed, without the empty ones; a coin of a later release stays as it is. */
const filled = (amounts: Amounts) =>
  Object.fromEntries(
    Object.entries(amounts)
      .map(([coin, amount]) => {
        const known = COIN_NAMES.find((name) => name === coin)
        return [coin, known === undefined ? amount : typedAmount(amount, ASSETS[known].decimals)] as const
      })
      .filter(([, amount]) => amount !== ''),
  )

/** Percents have two decimals too. */
const typedTolerance = ({ percent, cap_usd: cap }: Form['under']): Form['under'] => ({
  percent: typedAmount(percent, 2),
  cap_usd: typedAmount(cap, 2),
})

function bodyOf({
  minutes,
  under,
  over,
  reopen,
  receipts,
  emails,
  funded,
  minimums,
  limits,
  tiers,
}: Form): UpdatePaymentRules {
  return {
    ...(isWindow(minutes) ? { window_minutes: minutes } : {}),
    tolerance_under: typedTolerance(under),
    tolerance_over: typedTolerance(over),
    reopen_expired: reopen,
    receipt_emails: receipts,
    ...emails,
    solana_funded_addresses: funded,
    minimums: filled(minimums),
    payout_daily_limits: filled(limits),
    confirmations: tiers,
  }
}

/** The fields that say themselves what is wrong with them. */
const FAULTS = [
  ...['tolerance_under', 'tolerance_over'].flatMap((name) => [`${name}.percent`, `${name}.cap_usd`]),
  ...COIN_NAMES.flatMap((coin) => [`payout_daily_limits.${coin}`, `minimums.${coin}`]),
]
/** The fields that the API names, of those that are folded up. */
const ADVANCED = /^(confirmations|minimums)\b/

function RulesForm({
  rules,
  isAdvanced,
  onAdvanced,
}: {
  rules: PaymentRules
  isAdvanced: boolean
  onAdvanced: (isOpen: boolean) => void
}) {
  const [form, setForm] = useState(() => formOf(rules))
  const change = (part: Partial<Form>) => setForm((old) => ({ ...old, ...part }))
  const save = useSaveRules()
  const isWithoutMail = useIsWithoutMail()
  return (
    <ManagerForm
      title="Payment rules"
      spacing="large"
      save={save}
      faults={FAULTS}
      onSave={() =>
        save.mutate(bodyOf(form), {
          onError: (error) => {
            if (error instanceof Problem && ADVANCED.test(error.param ?? '')) onAdvanced(true)
          },
        })
      }
    >
      <Card title="Time to pay">
        <div className="stack">
          <Select
            label="The coin amount is fixed for"
            value={form.minutes}
            onChange={(event) => change({ minutes: Number(event.target.value) })}
          >
            {WINDOWS.map((window) => (
              <option key={window} value={window}>
                {WINDOW_LABELS[window]}
              </option>
            ))}
          </Select>
          <Checkbox
            label="A buyer may open an expired invoice again, at the current price"
            checked={form.reopen}
            onChange={(event) => change({ reopen: event.target.checked })}
          />
        </div>
      </Card>
      <Card title="Receipts">
        <div className="stack">
          <p className="quiet">
            The checkout offers an email with the receipt, sent once when the invoice is paid; open invoices
            offer it at once. In test mode only confirmed addresses of your team get one.
          </p>
          {isWithoutMail ? (
            <Note kind="warn">
              This server sends no emails: buyers are offered none until whoever runs it sets a mail server
              (SMTP_URL).
            </Note>
          ) : null}
          <Checkbox
            label="Buyers may ask for the receipt by email"
            checked={form.receipts}
            onChange={(event) => change({ receipts: event.target.checked })}
          />
        </div>
      </Card>
      <BuyerEmailRulesCard
        rules={form.emails}
        isWithoutMail={isWithoutMail}
        onChange={(emails) => change({ emails: { ...form.emails, ...emails } })}
      />
      <ToleranceCard under={form.under} over={form.over} error={save.error} onChange={change} />
      <AmountsCard
        title="Daily payout limit"
        lead="The most that can be paid out in 24 hours. Limits loss from error or theft. Empty: no limit."
        field="payout_daily_limits"
        amounts={form.limits}
        error={save.error}
        onChange={(limits) => change({ limits })}
      />
      <details
        open={isAdvanced}
        onToggle={(event) => onAdvanced(event.currentTarget.open)}
        // What a browser refuses to send must be seen.
        onInvalidCapture={() => onAdvanced(true)}
      >
        <summary>Advanced: confirmations, smallest amounts, Solana wallets</summary>
        <div className="stack large">
          <TierCard tiers={form.tiers} onChange={(tiers) => change({ tiers })} />
          <AmountsCard
            title="Smallest amounts"
            lead="Raise a coin's smallest invoice, where network fees eat small ones. Empty: the coin's own."
            field="minimums"
            amounts={form.minimums}
            error={save.error}
            onChange={(minimums) => change({ minimums })}
          />
          <Card title="Older Solana wallets">
            <div className="stack">
              <p className="quiet">
                Some wallets refuse to pay an address that holds nothing, and every invoice has a new one. A
                small balance makes them pay. It comes from the account that pays for payouts, and goes back
                there a week after the invoice ends.
              </p>
              <Checkbox
                label="Put a small balance on each address for SOL"
                checked={form.funded}
                onChange={(event) => change({ funded: event.target.checked })}
              />
            </div>
          </Card>
        </div>
      </details>
    </ManagerForm>
  )
}

/** An amount for each coin; empty where the merchant has none of their own. */
function AmountsCard({
  title,
  lead,
  field,
  amounts,
  error,
  onChange,
}: {
  title: string
  lead: string
  field: 'minimums' | 'payout_daily_limits'
  amounts: Amounts
  error: unknown
  onChange: (amounts: Amounts) => void
}) {
  return (
    <Card title={title}>
      <p className="quiet">{lead}</p>
      <fieldset className="grid-two plain">
        <legend className="unseen">{title}</legend>
        {COIN_NAMES.map((coin) => (
          <Field
            key={coin}
            label={`${COINS[coin].name}, in ${COINS[coin].symbol}`}
            inputMode="decimal"
            value={amounts[coin] ?? ''}
            onChange={(event) => onChange({ ...amounts, [coin]: event.target.value })}
            fault={faultOf(error, `${field}.${coin}`)}
          />
        ))}
      </fieldset>
    </Card>
  )
}
