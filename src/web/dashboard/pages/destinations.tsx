import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { assetsOf, destinationsOf } from '../api/reads.ts'
import type { AssetName, CreatePayoutDestination, PayoutDestination } from '../api/types.ts'
import { useChange } from '../app/changes.ts'
import { useIsWithoutNetworks } from '../app/live-networks.ts'
import { useAccount, useMode } from '../app/session.ts'
import { Badge } from '../parts/badge.tsx'
import { Button } from '../parts/button.tsx'
import { Confirm } from '../parts/confirm.tsx'
import { CopyField } from '../parts/copy.tsx'
import type { CsvColumn } from '../parts/csv.ts'
import { CsvButton } from '../parts/csv-button.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { DialogForm } from '../parts/dialog-form.tsx'
import { Field, Select } from '../parts/field.tsx'
import { COIN_OPTIONS } from '../parts/filter.tsx'
import { COINS, chainName } from '../parts/money.ts'
import { faultOf, Note } from '../parts/note.tsx'
import { Page } from '../parts/page.tsx'
import { type Column, DataTable, Empty } from '../parts/table.tsx'
import { formatMoment, Time } from '../parts/time.tsx'

/** The addresses that payouts may go to. */
export function DestinationsPage() {
  const mode = useMode()
  const { isManager, mayWrite } = useAccount()
  const mayChange = mode === 'live' ? isManager : mayWrite
  const destinations = useQuery(destinationsOf(mode))
  const isWithoutNetworks = useIsWithoutNetworks()
  const [isAdding, setIsAdding] = useState(false)
  const [looking, setLooking] = useState<PayoutDestination | null>(null)
  const [ending, setEnding] = useState<PayoutDestination | null>(null)
  const remove = useChange<string, null>((id) => ({ method: 'DELETE', path: `/payout-destinations/${id}` }), {
    done: 'The destination is off the list.',
  })
  const addButton = mayChange ? (
    <Button look="primary" icon="plus" disabled={isWithoutNetworks} onClick={() => setIsAdding(true)}>
      Add destination
    </Button>
  ) : undefined
  return (
    <Page
      title="Payout destinations"
      lead="Payouts go to these addresses and to no other."
      actions={
        <>
          <CsvButton
            name="payout-destinations"
            path="/payout-destinations"
            query={{}}
            columns={CSV_COLUMNS}
          />
          {addButton}
        </>
      }
    >
      <DataTable
        caption="Payout destinations, newest first"
        columns={columnsOf({ onLook: setLooking, onRemove: mayChange ? setEnding : null })}
        read={destinations}
        empty={
          <Empty title="No destinations yet">
            <p>
              Add the address of your own wallet or of your account at an exchange.
              {mode === 'live' ? ' It can be used a day later.' : ''}
            </p>
            {addButton ?? <p>Ask an owner or admin to add one.</p>}
          </Empty>
        }
      />
      {isAdding ? <AddDialog onClose={() => setIsAdding(false)} /> : null}
      {looking === null ? null : <Fingerprint destination={looking} onClose={() => setLooking(null)} />}
      {ending === null ? null : (
        <Confirm
          title={`Remove ${ending.name}?`}
          action="Remove it"
          danger
          onConfirm={() => remove.mutateAsync(ending.id)}
          onClose={() => setEnding(null)}
        >
          <p>
            No payout to it can be requested or approved any more. Payouts already approved go on.
            {mode === 'live' ? ' If you add it again, it waits a day again.' : ''}
          </p>
        </Confirm>
      )}
    </Page>
  )
}

const columnsOf = ({
  onLook,
  onRemove,
}: {
  onLook: (destination: PayoutDestination) => void
  onRemove: ((destination: PayoutDestination) => void) | null
}): readonly Column<PayoutDestination>[] => [
  { title: 'Name', cell: ({ name }) => <strong className="name">{name}</strong> },
  { title: 'Coin', wide: true, cell: ({ asset }) => COINS[asset].name },
  { title: 'Address', wide: true, cell: ({ address }) => <code className="break">{address}</code> },
  {
    title: 'Status',
    cell: ({ usable_at }) =>
      Date.parse(usable_at) <= Date.now() ? (
        <Badge tone="good">Ready</Badge>
      ) : (
        <Badge tone="warn">{`From ${formatMoment(usable_at)}`}</Badge>
      ),
  },
  { title: 'Added', roomy: true, cell: ({ created_at }) => <Time at={created_at} /> },
  {
    title: 'Change',
    align: 'end',
    cell: (destination) => (
      <span className="actions end">
        <Button onClick={() => onLook(destination)} aria-label={`Check ${destination.name}`}>
          Check
        </Button>
        {onRemove === null ? null : (
          <Button
            look="danger"
            onClick={() => onRemove(destination)}
            aria-label={`Remove ${destination.name}`}
          >
            Remove
          </Button>
        )}
      </span>
    ),
  },
]

const CSV_COLUMNS: readonly CsvColumn<PayoutDestination>[] = [
  ['id', ({ id }) => id],
  ['name', ({ name }) => name],
  ['asset', ({ asset }) => asset],
  ['address', ({ address }) => address],
  ['usable_at', ({ usable_at }) => usable_at],
  ['created_at', ({ created_at }) => created_at],
]

/** An exchange has an address for each network, and they look alike. */
function networkHint(asset: AssetName): string {
  const { symbol, chain } = COINS[asset]
  return ` At an exchange, take its address for ${symbol} on the ${chainName(chain)} network.`
}

function AddDialog({ onClose }: { onClose: () => void }) {
  const mode = useMode()
  const [form, setForm] = useState({ asset: 'BTC', address: '', name: '' })
  const set = (field: 'asset' | 'address' | 'name') => (event: { target: { value: string } }) =>
    setForm((old) => ({ ...old, [field]: event.target.value }))
  const add = useChange<CreatePayoutDestination, PayoutDestination>(
    (body) => ({ path: '/payout-destinations', body }),
    {
      done: ({ usable_at }) =>
        Date.parse(usable_at) <= Date.now()
          ? 'The address is on the list.'
          : `The address is on the list. It can be used from ${formatMoment(usable_at)}.`,
      onDone: onClose,
    },
  )
  const { asset, address, name } = form
  const testAddress = useQuery(assetsOf(mode)).data?.data.find((one) => one.asset === asset)?.test_address
  return (
    <DialogForm
      title="Add destination"
      action="Add"
      change={add}
      faults={['address', 'name']}
      onClose={onClose}
      onSubmit={() => {
        add.mutate({ asset: asset as AssetName, address: address.trim(), name: name.trim() })
      }}
    >
      <Select label="Coin" value={asset} onChange={set('asset')}>
        {COIN_OPTIONS.map(([coin, label]) => (
          <option key={coin} value={coin}>
            {label}
          </option>
        ))}
      </Select>
      <Field
        label="Address"
        hint={`Copy it from your wallet, then compare all of it, not the two ends alone.${networkHint(asset as AssetName)}`}
        required
        maxLength={120}
        spellCheck={false}
        autoComplete="off"
        value={address}
        onChange={set('address')}
        fault={faultOf(add.error, 'address')}
      />
      {testAddress == null ? null : (
        <div className="actions">
          <Button
            small
            onClick={() =>
              setForm((old) => ({
                ...old,
                address: testAddress,
                name: old.name === '' ? 'Test address' : old.name,
              }))
            }
          >
            Use a test address
          </Button>
          <span className="quiet small-text">It takes test coins and keeps them.</span>
        </div>
      )}
      <Field
        label="Name"
        hint="For example: My wallet."
        required
        maxLength={120}
        value={name}
        onChange={set('name')}
        fault={faultOf(add.error, 'name')}
      />
      {mode === 'live' ? (
        <Note>
          <p>
            It can be used a day after you add it. Whoever took over a sign-in has to wait that long, and you
            see it before.
          </p>
        </Note>
      ) : null}
    </DialogForm>
  )
}

/** What to compare with a note on paper. */
function Fingerprint({ destination, onClose }: { destination: PayoutDestination; onClose: () => void }) {
  const { name, asset, address, digest, created_at } = destination
  return (
    <Dialog title={name} onClose={onClose}>
      <div className="stack">
        <CopyField label={`${COINS[asset].name} address`} text={address} />
        <CopyField label="Fingerprint" text={digest} />
        <p className="quiet">
          The fingerprint is made of coin, mode and address (SHA-256). Keep it on paper: as long as it is the
          same, nobody has put another address in this one's place. Added <Time at={created_at} />.
        </p>
        <div className="actions end">
          <Button look="primary" onClick={onClose}>
            Done
          </Button>
        </div>
      </div>
    </Dialog>
  )
}
