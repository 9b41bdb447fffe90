import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useState } from 'react'
import { depositAddressesOf, depositsOf } from '../api/reads.ts'
import type { Deposit, DepositAddress, PayTestDeposit, TestDeposit } from '../api/types.ts'
import { useChange } from '../app/changes.ts'
import { useMode } from '../app/session.ts'
import { Badge, PAYMENT_LABELS } from '../parts/badge.tsx'
import { Button } from '../parts/button.tsx'
import { CopyField } from '../parts/copy.tsx'
import type { CsvColumn } from '../parts/csv.ts'
import { CsvButton } from '../parts/csv-button.tsx'
import { Field, Select } from '../parts/field.tsx'
import { coinName, coins, usd } from '../parts/money.ts'
import { faultOf, ProblemNote } from '../parts/note.tsx'
import { Card, Page } from '../parts/page.tsx'
import { Pager, pageQuery } from '../parts/pager.tsx'
import { SearchBox } from '../parts/search-box.tsx'
import { type Column, DataTable, Empty, Narrow, NothingFound } from '../parts/table.tsx'
import { Time } from '../parts/time.tsx'

const route = getRouteApi('/inside/deposits')

/** What came to customers' permanent addresses; of one customer also the addresses. */
export function DepositsPage() {
  const mode = useMode()
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const { customer } = search
  const isOfCustomer = customer !== undefined
  const found = useQuery({
    ...depositAddressesOf(mode, { customer_reference: customer }),
    enabled: isOfCustomer,
  })
  const [account] = isOfCustomer ? (found.data?.data ?? []) : []
  const deposits = useQuery({
    ...depositsOf(mode, { ...pageQuery(search), deposit_address_id: account?.id }),
    enabled: !isOfCustomer || account !== undefined,
  })
  const isUnknown = isOfCustomer && found.data !== undefined && account === undefined
  return (
    <Page
      title="Deposits"
      lead="Payments to your customers’ permanent addresses, which your server asks for."
      actions={
        <CsvButton
          name="deposits"
          path="/deposits"
          query={{ deposit_address_id: account?.id }}
          columns={CSV_COLUMNS}
        />
      }
    >
      <search className="filters">
        <SearchBox
          label="Find a customer"
          placeholder="Your reference of the customer"
          value={customer}
          onSearch={(text) => void navigate({ search: ({ mode: kept }) => ({ mode: kept, customer: text }) })}
        />
      </search>
      {isUnknown ? (
        <NothingFound>
          <p>No customer has this reference. Write it in full.</p>
          <Link className="button plain" to="/deposits" search={(old) => ({ mode: old.mode })}>
            Show all deposits
          </Link>
        </NothingFound>
      ) : (
        <div className="stack">
          {account === undefined ? null : <Addresses account={account} />}
          {account === undefined || mode !== 'test' ? null : <TestDepositCard account={account} />}
          <DataTable
            caption="Deposits, newest first"
            columns={COLUMNS}
            read={deposits}
            empty={
              <Empty title="No deposits yet">
                <p>A payment to a customer’s permanent address is listed here as soon as it is seen.</p>
                {isOfCustomer ? null : (
                  <p>To see a customer’s addresses, enter your reference of them above.</p>
                )}
              </Empty>
            }
          />
          <Pager list={deposits.data} position={search} />
        </div>
      )}
    </Page>
  )
}

const Addresses = ({ account: { customer_reference, addresses } }: { account: DepositAddress }) => (
  <Card title={`Addresses of ${customer_reference}`}>
    <div className="stack">
      {addresses.map(({ family, address, assets }) => (
        <CopyField key={family} label={assets.map(coinName).join(', ') || family} text={address} />
      ))}
    </div>
  </Card>
)

/** In test mode: plays the customer, who sends coins to an address. */
function TestDepositCard({ account: { id, addresses } }: { account: DepositAddress }) {
  const assets = addresses.flatMap((each) => each.assets)
  const [chosen, setChosen] = useState(assets[0])
  const [amount, setAmount] = useState('0.1')
  const pay = useChange<PayTestDeposit, TestDeposit>(
    (body) => ({ path: `/test/deposit-addresses/${id}/pay`, body }),
    { done: 'The test deposit is on its way.' },
  )
  if (chosen === undefined) return null
  const [assetFault, amountFault] = [faultOf(pay.error, 'asset'), faultOf(pay.error, 'amount')]
  return (
    <Card title="Pay it in the sandbox">
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault()
          pay.mutate({ asset: chosen, amount: amount.trim() })
        }}
      >
        <p className="quiet">Sends test coins to this customer’s address, as the customer would.</p>
        <Select
          label="Coin"
          value={chosen}
          fault={assetFault}
          onChange={(event) => setChosen(assets.find((asset) => asset === event.target.value))}
        >
          {assets.map((asset) => (
            <option key={asset} value={asset}>
              {coinName(asset)}
            </option>
          ))}
        </Select>
        <Field
          label="Amount in coins"
          inputMode="decimal"
          required
          value={amount}
          fault={amountFault}
          onChange={(event) => setAmount(event.target.value)}
        />
        {assetFault === null && amountFault === null ? <ProblemNote error={pay.error} /> : null}
        <div>
          <Button look="primary" type="submit" busy={pay.isPending}>
            Send test coins
          </Button>
        </div>
      </form>
    </Card>
  )
}

const statusBadge = ({ status, review_reason }: Deposit) =>
  review_reason === null ? (
    <Badge tone={PAYMENT_LABELS[status].tone}>{PAYMENT_LABELS[status].label}</Badge>
  ) : (
    <Badge tone="warn">In suspense</Badge>
  )

const COLUMNS: readonly Column<Deposit>[] = [
  {
    title: 'Deposit',
    cell: (deposit) => (
      <>
        {coins(deposit.amount, deposit.asset)}
        <Narrow>
          {statusBadge(deposit)} <Time at={deposit.detected_at} />
        </Narrow>
      </>
    ),
  },
  {
    title: 'Customer',
    long: true,
    cell: ({ customer_reference }) => (
      <Link
        to="/deposits"
        search={(old) => ({ mode: old.mode, customer: customer_reference })}
        className="row-link break"
      >
        {customer_reference}
      </Link>
    ),
  },
  { title: 'Value', align: 'end', wide: true, cell: ({ usd_amount }) => usd(usd_amount) },
  { title: 'Status', wide: true, cell: statusBadge },
  { title: 'Seen', wide: true, cell: ({ detected_at }) => <Time at={detected_at} /> },
]

const CSV_COLUMNS: readonly CsvColumn<Deposit>[] = [
  ['id', ({ id }) => id],
  ['customer_reference', ({ customer_reference }) => customer_reference],
  ['asset', ({ asset }) => asset],
  ['amount', ({ amount }) => amount],
  ['usd_amount', ({ usd_amount }) => usd_amount],
  ['status', ({ status }) => status],
  ['network', ({ network }) => network],
  ['address', ({ address }) => address],
  ['txid', ({ txid }) => txid],
  ['detected_at', ({ detected_at }) => detected_at],
  ['confirmed_at', ({ confirmed_at }) => confirmed_at],
]
