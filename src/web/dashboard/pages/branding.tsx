import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { merchantOf } from '../api/reads.ts'
import type { Merchant, UpdateMerchant } from '../api/types.ts'
import { useChange } from '../app/changes.ts'
import { useAccount, useMode } from '../app/session.ts'
import { Button } from '../parts/button.tsx'
import { CopyField } from '../parts/copy.tsx'
import { Checkbox, Field, TextArea } from '../parts/field.tsx'
import { ManagerForm } from '../parts/manager-form.tsx'
import { faultOf, ProblemNote } from '../parts/note.tsx'
import { Card, Page } from '../parts/page.tsx'
import { NO_PICTURE, PICTURE_TYPES, pictureOf } from '../parts/picture.ts'
import { Read } from '../parts/read.tsx'
import { CurrencySelect, type Total } from '../parts/total-fields.tsx'

const DEFAULT_COLOUR = '#2b50d8'

export function BrandingPage() {
  const mode = useMode()
  const merchant = useQuery(merchantOf(mode))
  const { merchantId } = useAccount()
  return (
    <Page
      title="Shop details"
      lead="Your currency, what your receipts say, and how your buyers' pages look, in both modes."
    >
      <Read read={merchant} lines={5}>
        {(known) => (
          <div className="stack large form">
            <CurrencyForm key={known.home_currency} merchant={known} />
            <LookForm key={JSON.stringify([known.brand_name, known.brand_colour])} merchant={known} />
            <LogoCard merchant={known} />
            <SellerForm key={JSON.stringify(sellerOf(known))} merchant={known} />
            <Card title="Shop ID">
              <div className="stack">
                <p className="quiet">
                  For commands, such as those for books and imports, and for the store of a plugin that was
                  made for BTCPay Server.
                </p>
                <CopyField label="Shop ID" text={merchantId} />
              </div>
            </Card>
          </div>
        )}
      </Read>
    </Page>
  )
}

const useSave = () =>
  useChange<UpdateMerchant, Merchant>((body) => ({ method: 'PATCH', path: '/merchant', body }), {
    done: 'Saved. Your buyers see it from now on.',
  })

function LookForm({ merchant }: { merchant: Merchant }) {
  const [name, setName] = useState(merchant.brand_name ?? '')
  const [colour, setColour] = useState(merchant.brand_colour)
  const save = useSave()
  return (
    <Card title="Name and colour">
      <ManagerForm
        title="Name and colour"
        save={save}
        faults={['brand_name']}
        onSave={() =>
          save.mutate({ brand_name: name.trim() === '' ? null : name.trim(), brand_colour: colour })
        }
      >
        <Field
          label="Public business name"
          hint={`Empty: ${merchant.name}`}
          maxLength={120}
          value={name}
          onChange={(event) => setName(event.target.value)}
          fault={faultOf(save.error, 'brand_name')}
        />
        <Checkbox
          label="A colour of your own"
          hint="Buttons keep it; as text it is made readable."
          checked={colour !== null}
          onChange={(event) => setColour(event.target.checked ? DEFAULT_COLOUR : null)}
        />
        {colour === null ? null : (
          <div className="colour-row">
            <input
              type="color"
              aria-label="Colour"
              value={colour}
              onChange={(event) => setColour(event.target.value)}
            />
            <code>{colour}</code>
          </div>
        )}
      </ManagerForm>
    </Card>
  )
}

const ADDRESS_LINES_MAX = 5

/** Without empty lines and the space around others. */
const linesOf = (text: string): string =>
  text
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .join('\n')

/** An API of the release before knows none of them. */
const sellerOf = ({ legal_name, postal_address, tax_number }: Merchant) => [
  legal_name ?? '',
  postal_address ?? '',
  tax_number ?? '',
]

function SellerForm({ merchant }: { merchant: Merchant }) {
  const [name = '', lines = '', number = ''] = sellerOf(merchant)
  const [legalName, setLegalName] = useState(name)
  const [address, setAddress] = useState(lines)
  const [taxNumber, setTaxNumber] = useState(number)
  const save = useSave()
  return (
    <Card title="On receipts">
      <ManagerForm
        title="On receipts"
        save={save}
        faults={['legal_name', 'postal_address', 'tax_number']}
        onSave={() =>
          save.mutate({
            legal_name: legalName.trim() || null,
            postal_address: linesOf(address) || null,
            tax_number: taxNumber.trim() || null,
          })
        }
      >
        <p className="quiet">
          Who sells, for buyers who need it for their books. Printed and emailed receipts have it; the signed
          file does not.
        </p>
        <Field
          label="Legal name"
          hint="If it is not your public business name. Optional."
          maxLength={200}
          value={legalName}
          onChange={(event) => setLegalName(event.target.value)}
          fault={faultOf(save.error, 'legal_name')}
        />
        <TextArea
          label="Postal address"
          hint={`At most ${ADDRESS_LINES_MAX} lines. Optional.`}
          rows={ADDRESS_LINES_MAX}
          maxLength={400}
          value={address}
          onChange={(event) => setAddress(event.target.value)}
          fault={faultOf(save.error, 'postal_address')}
        />
        <Field
          label="Tax or company number"
          hint="Such as your VAT ID. Optional."
          maxLength={64}
          value={taxNumber}
          onChange={(event) => setTaxNumber(event.target.value)}
          fault={faultOf(save.error, 'tax_number')}
        />
      </ManagerForm>
    </Card>
  )
}

function CurrencyForm({ merchant }: { merchant: Merchant }) {
  const [currency, setCurrency] = useState<Total['currency']>(merchant.home_currency ?? 'USD')
  const save = useChange<UpdateMerchant, Merchant>((body) => ({ method: 'PATCH', path: '/merchant', body }), {
    done: 'Saved. New invoices, links and orders here begin with it.',
  })
  return (
    <Card title="Your currency">
      <ManagerForm
        title="Your currency"
        save={save}
        faults={['home_currency']}
        onSave={() => save.mutate({ home_currency: currency === 'USD' ? null : currency })}
      >
        <p className="quiet">
          New invoices, links and orders in this dashboard begin with it. Home, Balances and statements show
          values in it beside US dollars. Rules and limits stay in US dollars.
        </p>
        <CurrencySelect
          label="Currency"
          currency={currency}
          onChange={setCurrency}
          fault={faultOf(save.error, 'home_currency')}
        />
      </ManagerForm>
    </Card>
  )
}

/** Twice the largest that a page shows, for sharp screens. */
const LOGO = { width: 640, height: 144 }

function LogoCard({ merchant }: { merchant: Merchant }) {
  const { isManager } = useAccount()
  const save = useSave()
  const [fault, setFault] = useState<string | null>(null)
  const choose = async (file: File | undefined) => {
    if (file === undefined) return
    const logo = await pictureOf(file, LOGO)
    setFault(logo === null ? NO_PICTURE : null)
    if (logo !== null) save.mutate({ logo })
  }
  return (
    <Card title="Logo">
      <div className="stack">
        {merchant.logo_url === null ? (
          <p className="quiet">None yet: buyers see the first letter of your name.</p>
        ) : (
          <img
            className="logo"
            src={new URL(merchant.logo_url, window.location.origin).pathname}
            alt="Your logo"
          />
        )}
        {isManager ? (
          <div className="row-form">
            <Field
              label="Picture"
              type="file"
              accept={PICTURE_TYPES}
              hint="PNG, JPEG or WebP of any size. It is made smaller here if need be."
              fault={fault}
              onChange={(event) => void choose(event.target.files?.[0])}
            />
            {merchant.logo_url === null ? null : (
              <Button look="danger" busy={save.isPending} onClick={() => save.mutate({ logo: null })}>
                Remove logo
              </Button>
            )}
          </div>
        ) : null}
        <ProblemNote error={save.error} />
      </div>
    </Card>
  )
}
