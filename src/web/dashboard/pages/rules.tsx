import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { paymentRulesOf } from '../api/reads.ts'
import type { AssetName, PaymentRules, UpdatePaymentRules } from '../api/types.ts'
import { useSaveRules } from '../app/save-rules.ts'
import { useMode } from '../app/session.ts'
import { Checkbox, Field, Select } from '../parts/field.tsx'
import { ManagerForm } from '../parts/manager-form.tsx'
import { COIN_NAMES, COINS } from '../parts/money.ts'
import { faultOf } from '../parts/note.tsx'
import { Card, Page } from '../parts/page.tsx'
import { Read } from '../parts/read.tsx'
import { isWindow, WINDOW_LABELS, WINDOWS } from '../parts/windows.ts'

export function RulesPage() {
  const mode = useMode()
  const rules = useQuery(paymentRulesOf(mode))
  return (
    <Page title="Payment rules" lead="Applies to new invoices only.">
      <Read read={rules} lines={6}>
        {(known) => <RulesForm key={JSON.stringify(known)} rules={known} />}
      </Read>
    </Page>
  )
}

const WORDS = ['safe', 'finalized'] as const
type Tier = number | (typeof WORDS)[number]
type Tiers = [Tier, Tier, Tier]
type Amounts = { readonly [coin: string]: string }
type Form = {
  readonly minutes: number
  readonly under: PaymentRules['tolerance_under']
  readonly over: PaymentRules['tolerance_over']
  readonly reopen: boolean
  readonly receipts: boolean
  readonly funded: boolean
  readonly minimums: Amounts
  readonly limits: Amounts
  readonly tiers: { readonly [coin: string]: Tiers }
}

const formOf = (rules: PaymentRules): Form => ({
  minutes: rules.window_minutes,
  under: rules.tolerance_under,
  over: rules.tolerance_over,
  reopen: rules.reopen_expired,
  receipts: rules.receipt_emails,
  funded: rules.solana_funded_addresses,
  minimums: rules.minimums,
  limits: rules.payout_daily_limits,
  tiers: rules.confirmations,
})

const filled = (amounts: Amounts) =>
  Object.fromEntries(Object.entries(amounts).filter(([, amount]) => amount !== ''))

function bodyOf({
  minutes,
  under,
  over,
  reopen,
  receipts,
  funded,
  minimums,
  limits,
  tiers,
}: Form): UpdatePaymentRules {
  return {
    ...(isWindow(minutes) ? { window_minutes: minutes } : {}),
    tolerance_under: under,
    tolerance_over: over,
    reopen_expired: reopen,
    receipt_emails: receipts,
    solana_funded_addresses: funded,
    minimums: filled(minimums),
    payout_daily_limits: filled(limits),
    confirmations: tiers,
  }
}

function RulesForm({ rules }: { rules: PaymentRules }) {
  const [form, setForm] = useState(() => formOf(rules))
  const change = (part: Partial<Form>) => setForm((old) => ({ ...old, ...part }))
  const save = useSaveRules()
  return (
    <ManagerForm title="Payment rules" spacing="large" save={save} onSave={() => save.mutate(bodyOf(form))}>
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
            label="A buyer may open an expired invoice again, at the price of the moment"
            checked={form.reopen}
            onChange={(event) => change({ reopen: event.target.checked })}
          />
        </div>
      </Card>
      <Card title="Receipts">
        <div className="stack">
          <p className="quiet">
            The checkout offers an e-mail with the receipt, sent once when the invoice is paid; open invoices
            offer it at once. This server needs a mail server for it (SMTP_URL). In test mode only confirmed
            addresses of your team get one.
          </p>
          <Checkbox
            label="Buyers may ask for the receipt by e-mail"
            checked={form.receipts}
            onChange={(event) => change({ receipts: event.target.checked })}
          />
        </div>
      </Card>
      <Card title="Payment tolerance">
        <p className="quiet">
          Exchanges take fees out of what they send. Within the tolerance an invoice is paid; the smaller of
          percent and cap counts.
        </p>
        <div className="grid-two">
          <ToleranceFields
            title="Too little"
            name="tolerance_under"
            value={form.under}
            error={save.error}
            onChange={(under) => change({ under })}
          />
          <ToleranceFields
            title="Too much"
            name="tolerance_over"
            value={form.over}
            error={save.error}
            onChange={(over) => change({ over })}
          />
        </div>
      </Card>
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
            Some wallets refuse to pay an address that holds nothing, and every invoice has a new one. A small
            balance makes them pay. It comes from the account that pays for payouts, and goes back there a
            week after the invoice ends.
          </p>
          <Checkbox
            label="Put a small balance on each address for SOL"
            checked={form.funded}
            onChange={(event) => change({ funded: event.target.checked })}
          />
        </div>
      </Card>
      <AmountsCard
        title="Daily payout limit"
        lead="The most that payouts of 24 hours may come to. Limits loss from error or theft. Empty: no limit."
        field="payout_daily_limits"
        amounts={form.limits}
        error={save.error}
        onChange={(limits) => change({ limits })}
      />
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
            onChange={(event) => onChange({ ...amounts, [coin]: event.target.value.trim() })}
            fault={faultOf(error, `${field}.${coin}`)}
          />
        ))}
      </fieldset>
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
  value: PaymentRules['tolerance_under']
  error: unknown
  onChange: (value: PaymentRules['tolerance_under']) => void
}) {
  return (
    <div className="stack">
      <h3>{title}</h3>
      <Field
        label={`${title}: percent`}
        inputMode="decimal"
        required
        value={value.percent}
        onChange={(event) => onChange({ ...value, percent: event.target.value.trim() })}
        fault={faultOf(error, `${name}.percent`)}
      />
      <Field
        label={`${title}: at most, in US dollars`}
        inputMode="decimal"
        required
        value={value.cap_usd}
        onChange={(event) => onChange({ ...value, cap_usd: event.target.value.trim() })}
        fault={faultOf(error, `${name}.cap_usd`)}
      />
    </div>
  )
}

const TIER_TITLES = ['Under $1,000', 'Under $10,000', 'Above'] as const
/** Chains that say themselves what is final; the others count blocks. */
const BY_WORD = new Set<AssetName>(['ETH', 'ETH_BASE', 'USDC_BASE', 'SOL', 'USDC_ETHEREUM'])

/** How deep a payment must lie before it is final. */
function TierCard({ tiers, onChange }: { tiers: Form['tiers']; onChange: (tiers: Form['tiers']) => void }) {
  const mode = useMode()
  const set = (coin: AssetName, at: number, tier: Tier) => {
    const old = tiers[coin]
    if (old === undefined) return
    const [first, second, third] = old.map((one, index) => (index === at ? tier : one))
    if (first === undefined || second === undefined || third === undefined) return
    onChange({ ...tiers, [coin]: [first, second, third] })
  }
  return (
    <Card title="When a payment is final">
      <p className="quiet">
        In confirmations, or by the chain's own finality. More is safer, but slower.
        {mode === 'test'
          ? ' On a test chain of your own, such as the sandbox, one block of Bitcoin or Litecoin is enough regardless of this setting.'
          : ''}
      </p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard (WCAG 2.1.1). */}
      <section className="table-frame" aria-label="Confirmations by coin and amount" tabIndex={0}>
        <table className="tiers">
          <caption className="unseen">Confirmations by coin and amount</caption>
          <thead>
            <tr>
              <th scope="col">Coin</th>
              {TIER_TITLES.map((title) => (
                <th key={title} scope="col">
                  {title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {COIN_NAMES.map((coin) => (
              <tr key={coin}>
                <th scope="row">{COINS[coin].name}</th>
                {TIER_TITLES.map((title, at) => (
                  <td key={title}>
                    <TierInput
                      label={`${COINS[coin].name}, ${title}`}
                      byWord={BY_WORD.has(coin)}
                      tier={tiers[coin]?.[at] ?? 1}
                      onChange={(tier) => set(coin, at, tier)}
                    />
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </Card>
  )
}

function TierInput({
  label,
  byWord,
  tier,
  onChange,
}: {
  label: string
  byWord: boolean
  tier: Tier
  onChange: (tier: Tier) => void
}) {
  if (byWord && typeof tier === 'string') {
    return (
      <select
        className="input"
        aria-label={label}
        value={tier}
        onChange={(event) => onChange(WORDS.find((word) => word === event.target.value) ?? tier)}
      >
        {WORDS.map((word) => (
          <option key={word} value={word}>
            {word}
          </option>
        ))}
      </select>
    )
  }
  return (
    <input
      className="input narrow"
      type="number"
      min={1}
      max={1000}
      required
      aria-label={label}
      value={tier}
      onChange={(event) => onChange(Number(event.target.value))}
    />
  )
}
