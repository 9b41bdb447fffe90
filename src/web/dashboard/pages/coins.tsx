import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { assetsOf, paymentRulesOf, ratesOf } from '../api/reads.ts'
import type { Asset, AssetName, PaymentRules } from '../api/types.ts'
import { useSaveRules } from '../app/save-rules.ts'
import { useAccount, useMode } from '../app/session.ts'
import { AssetBadge } from '../parts/asset-badge.tsx'
import { Badge } from '../parts/badge.tsx'
import { Button } from '../parts/button.tsx'
import { Checkbox, Select } from '../parts/field.tsx'
import { COIN_NAMES, COINS, usd } from '../parts/money.ts'
import { Note, ProblemNote } from '../parts/note.tsx'
import { Card, Page } from '../parts/page.tsx'
import { Skeleton } from '../parts/table.tsx'

export function CoinsPage() {
  const mode = useMode()
  const rules = useQuery(paymentRulesOf(mode))
  const assets = useQuery(assetsOf(mode))
  const error = rules.error ?? assets.error
  return (
    <Page title="Accepted coins" lead="What buyers can pay with, and what they are offered first.">
      <ProblemNote error={error} />
      {rules.data === undefined || assets.data === undefined ? (
        error === null ? (
          <Skeleton lines={6} />
        ) : null
      ) : (
        <CoinForm key={JSON.stringify(rules.data)} rules={rules.data} assets={assets.data.data} />
      )}
    </Page>
  )
}

/** What is only known of accepted coins, and what says that another is not one. */
function CoinState({ isChosen, asset }: { isChosen: boolean; asset: Asset | undefined }) {
  if (!isChosen) return <Badge tone="quiet">Off</Badge>
  return asset === undefined ? null : <AssetBadge asset={asset} />
}

function CoinForm({ rules, assets }: { rules: PaymentRules; assets: readonly Asset[] }) {
  const mode = useMode()
  const { isManager } = useAccount()
  const rates = useQuery(ratesOf(mode))
  const accepted = rules.accepted_assets ?? assets.map(({ asset }) => asset)
  const [chosen, setChosen] = useState<ReadonlySet<AssetName>>(new Set(accepted))
  const [first, setFirst] = useState<AssetName | ''>(rules.default_asset ?? '')
  const [anyNetwork, setAnyNetwork] = useState(rules.any_network)
  const [atPar, setAtPar] = useState(rules.stablecoins_at_par)
  const save = useSaveRules()
  const toggle = (coin: AssetName) =>
    setChosen((old) => new Set(COIN_NAMES.filter((one) => (one === coin ? !old.has(one) : old.has(one)))))
  const priceOf = (coin: AssetName): string => {
    const rate = rates.data?.data.find(({ asset }) => asset === coin)
    return rate?.usd_per_unit == null ? '' : `${usd(rate.usd_per_unit)} each`
  }
  return (
    <form
      className="stack large"
      onSubmit={(event) => {
        event.preventDefault()
        save.mutate({
          accepted_assets: COIN_NAMES.filter((coin) => chosen.has(coin)),
          any_network: anyNetwork,
          stablecoins_at_par: atPar,
          default_asset: first === '' || !chosen.has(first) ? null : first,
        })
      }}
    >
      <Card title="Coins">
        {rules.accepted_assets === null ? (
          <p className="quiet">
            You have not chosen yet: the usual coins are on, where this server has their network.
          </p>
        ) : null}
        <ul className="coin-list">
          {COIN_NAMES.map((coin) => (
            <li key={coin}>
              <Checkbox
                label={COINS[coin].name}
                hint={priceOf(coin)}
                checked={chosen.has(coin)}
                disabled={!isManager}
                onChange={() => toggle(coin)}
              />
              <CoinState isChosen={chosen.has(coin)} asset={assets.find(({ asset }) => asset === coin)} />
            </li>
          ))}
        </ul>
      </Card>
      <Card title="Dollars on several networks">
        <Checkbox
          label="Buyers may pay USDC and USDT on any network that is on above"
          hint="One invoice adds up what comes on each of them. Off: only the chosen network counts, and what comes on another waits for you."
          checked={anyNetwork}
          disabled={!isManager}
          onChange={(event) => setAnyNetwork(event.target.checked)}
        />
        <Checkbox
          label="Count each dollar token as one dollar"
          hint="On invoices in USD, which take USDC, USDT and others. Off: each counts at its own price, locked when the invoice is created. A token away from a dollar by more than two cents is not taken at all."
          checked={atPar}
          disabled={!isManager}
          onChange={(event) => setAtPar(event.target.checked)}
        />
      </Card>
      <Card title="Offered first">
        <Select
          label="Default coin"
          hint="For invoices and links without a coin of their own."
          value={first}
          disabled={!isManager}
          onChange={(event) => setFirst(COIN_NAMES.find((coin) => coin === event.target.value) ?? '')}
        >
          <option value="">Chosen by Paylink</option>
          {COIN_NAMES.filter((coin) => chosen.has(coin)).map((coin) => (
            <option key={coin} value={coin}>
              {COINS[coin].name}
            </option>
          ))}
        </Select>
      </Card>
      <ProblemNote error={save.error} />
      {isManager ? (
        <div className="actions">
          <Button type="submit" look="primary" busy={save.isPending} disabled={chosen.size === 0}>
            Save
          </Button>
        </div>
      ) : (
        <Note>An owner or admin can change this.</Note>
      )}
    </form>
  )
}
