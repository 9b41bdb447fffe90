import { useState } from 'react'
import { SCOPES, type Scope } from '../../../wire/scopes.ts'
import type { CreateApiKey, CreatedApiKey } from '../api/types.ts'
import { useChange } from '../app/changes.ts'
import { DialogForm } from '../parts/dialog-form.tsx'
import { Checkbox, Field } from '../parts/field.tsx'
import { faultOf } from '../parts/note.tsx'

/** What a server is usually for, each with what it takes and no more. */
const PRESETS = {
  shop: {
    label: 'Accept payments',
    hint: 'For a shop’s server: create invoices, links and checkouts, and read what became of them.',
    scopes: [
      'invoices:read',
      'invoices:write',
      'payment_links:read',
      'payment_links:write',
      'checkout_sessions:read',
      'checkout_sessions:write',
      'events:read',
    ],
  },
  books: {
    label: 'Read only',
    hint: 'For bookkeeping and reports: read everything, change nothing.',
    scopes: SCOPES.filter((scope) => scope.endsWith(':read')),
  },
  payouts: {
    label: 'Payouts',
    hint: 'Request payouts and read balances. In live mode a person still approves each.',
    scopes: ['balances:read', 'payouts:read', 'payouts:write'],
  },
  custom: { label: 'Custom', hint: 'Choose each permission.', scopes: [] },
} as const satisfies {
  readonly [preset: string]: { label: string; hint: string; scopes: readonly Scope[] }
}
type Preset = keyof typeof PRESETS
const PRESET_NAMES = Object.keys(PRESETS) as Preset[]

export function NewKeyDialog({
  onClose,
  onMade,
}: {
  onClose: () => void
  onMade: (key: CreatedApiKey) => void
}) {
  const [name, setName] = useState('')
  const [preset, setPreset] = useState<Preset>('shop')
  const [scopes, setScopes] = useState<ReadonlySet<Scope>>(new Set(PRESETS.shop.scopes))
  const make = useChange<CreateApiKey, CreatedApiKey>((body) => ({ path: '/api-keys', body }), {
    onDone: (key) => {
      onClose()
      onMade(key)
    },
  })
  const choose = (chosen: Preset) => {
    setPreset(chosen)
    // Custom begins with what was chosen before.
    if (chosen !== 'custom') setScopes(new Set(PRESETS[chosen].scopes))
  }
  return (
    <DialogForm
      title="New API key"
      action="Create key"
      change={make}
      faults={['name', 'scopes']}
      onClose={onClose}
      onSubmit={() => make.mutate({ name: name.trim(), scopes: SCOPES.filter((scope) => scopes.has(scope)) })}
    >
      <Field
        label="Name"
        hint="Where it will be used, to find it again."
        required
        maxLength={120}
        placeholder="Shop server"
        value={name}
        onChange={(event) => setName(event.target.value)}
        fault={faultOf(make.error, 'name')}
      />
      <fieldset>
        <legend>Permissions</legend>
        {PRESET_NAMES.map((one) => (
          <Checkbox
            key={one}
            type="radio"
            name="preset"
            label={PRESETS[one].label}
            hint={PRESETS[one].hint}
            checked={preset === one}
            onChange={() => choose(one)}
          />
        ))}
        {preset === 'custom' ? <ScopeChoice scopes={scopes} onChange={setScopes} /> : null}
        {faultOf(make.error, 'scopes') === null ? null : (
          <p className="fault" role="alert">
            Choose at least one permission.
          </p>
        )}
      </fieldset>
    </DialogForm>
  )
}

function ScopeChoice({
  scopes,
  onChange,
}: {
  scopes: ReadonlySet<Scope>
  onChange: (scopes: ReadonlySet<Scope>) => void
}) {
  const toggle = (scope: Scope) =>
    onChange(new Set(scopes.has(scope) ? [...scopes].filter((one) => one !== scope) : [...scopes, scope]))
  return (
    <div className="scopes">
      {SCOPES.map((scope) => (
        <Checkbox
          key={scope}
          label={scope.replaceAll('_', ' ').replace(':', ', ')}
          checked={scopes.has(scope)}
          onChange={() => toggle(scope)}
        />
      ))}
    </div>
  )
}
