import type { PaymentRules } from '../api/types.ts'
import { Checkbox, Select } from '../parts/field.tsx'
import { Note } from '../parts/note.tsx'
import { Card } from '../parts/page.tsx'

export type BuyerEmailRules = Pick<
  PaymentRules,
  'buyer_link_emails' | 'buyer_reminder_emails' | 'buyer_receipt_emails' | 'buyer_email_language'
>

export const buyerEmailRulesOf = (rules: PaymentRules): BuyerEmailRules => ({
  buyer_link_emails: rules.buyer_link_emails,
  buyer_reminder_emails: rules.buyer_reminder_emails,
  buyer_receipt_emails: rules.buyer_receipt_emails,
  buyer_email_language: rules.buyer_email_language,
})

const KINDS = [
  ['buyer_link_emails', 'The link, when the invoice is created'],
  [
    'buyer_reminder_emails',
    'A reminder with a quarter of the time left, if there are 2 hours or more to pay',
  ],
  ['buyer_receipt_emails', 'The receipt, once it is paid'],
] as const

const LANGUAGES: { readonly [tag in PaymentRules['buyer_email_language']]: string } = {
  en: 'English',
  es: 'Español',
  'pt-BR': 'Português',
  fr: 'Français',
  de: 'Deutsch',
  ru: 'Русский',
  tr: 'Türkçe',
  zh: '中文',
  ja: '日本語',
  ar: 'العربية',
}
const TAGS = Object.keys(LANGUAGES) as PaymentRules['buyer_email_language'][]

/** What the buyer is emailed of an invoice that names their address. */
export function BuyerEmailRulesCard({
  rules,
  isWithoutMail,
  onChange,
}: {
  rules: BuyerEmailRules
  isWithoutMail: boolean
  onChange: (change: Partial<BuyerEmailRules>) => void
}) {
  return (
    <Card title="Emails to buyers">
      <div className="stack">
        <p className="quiet">
          Sent to the email address that an invoice has, of invoices created from now on. Every email has a
          link to unsubscribe from all of yours. In test mode only confirmed addresses of your team get one.
        </p>
        {isWithoutMail ? (
          <Note kind="warn">
            This server sends no emails: buyers get none until whoever runs it sets a mail server (SMTP_URL).
          </Note>
        ) : null}
        {KINDS.map(([setting, label]) => (
          <Checkbox
            key={setting}
            label={label}
            checked={rules[setting]}
            onChange={(event) => onChange({ [setting]: event.target.checked })}
          />
        ))}
        <Select
          label="Language of these emails"
          value={rules.buyer_email_language}
          onChange={({ target }) => {
            const tag = TAGS.find((each) => each === target.value)
            if (tag !== undefined) onChange({ buyer_email_language: tag })
          }}
        >
          {TAGS.map((tag) => (
            <option key={tag} value={tag}>
              {LANGUAGES[tag]}
            </option>
          ))}
        </Select>
      </div>
    </Card>
  )
}
