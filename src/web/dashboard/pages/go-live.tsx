import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { Chain } from '../../../core/assets.ts'
import { organizationsQuery } from '../api/people.ts'
import { assetsOf } from '../api/reads.ts'
import type { Asset } from '../api/types.ts'
import { useAccount } from '../app/session.ts'
import { chainsOf, type LiveAnswers, PUBLIC_CHAINS, setupCommandFor } from '../app/setup-command.ts'
import { AssetBadge } from '../parts/asset-badge.tsx'
import { Snippet } from '../parts/copy.tsx'
import { Checkbox, Field, Select } from '../parts/field.tsx'
import { COIN_NAMES, COINS, chainName, USUAL_COINS } from '../parts/money.ts'
import { Note } from '../parts/note.tsx'
import { Card, Page } from '../parts/page.tsx'

/** From test money to real money: what a shop decides, then what whoever runs the server does with one command. */
export function GoLivePage() {
  const account = useAccount()
  const shops = useQuery(organizationsQuery)
  const shop = shops.data?.find(({ id }) => id === account.merchantId)?.name ?? ''
  return (
    <Page
      title="Go live"
      lead="Take real money in three steps. You choose, and whoever runs this server does the rest, once for every shop on it."
    >
      <div className="stack large form">
        <Networks />
        <Plan shop={shop} email={account.role === 'owner' ? account.person.email : null} />
      </div>
    </Page>
  )
}

function Networks() {
  const assets = useQuery(assetsOf('live'))
  const found = (assets.data?.data ?? []).filter(({ network_status }) => network_status !== null)
  if (assets.data === undefined) return null
  if (found.length === 0) {
    return (
      <Note kind="warn">
        <p>No live network is connected yet. This page notices by itself when one is.</p>
      </Note>
    )
  }
  return (
    <Card title="Connected">
      <ul className="coin-list">
        {found.map((asset) => (
          <ConnectedCoin key={asset.asset} asset={asset} />
        ))}
      </ul>
      <p className="quiet">
        <Link to="/" search={{ mode: 'live' }}>
          Switch to live mode
        </Link>{' '}
        for live API keys, webhooks and your first live payment link.
      </p>
    </Card>
  )
}

const ConnectedCoin = ({ asset }: { asset: Asset }) => (
  <li>
    <span>{COINS[asset.asset].name}</span>
    <AssetBadge asset={asset} />
  </li>
)

const SIGN_UPS = {
  closed: 'Nobody: you create shops',
  invite: 'Those whom a shop invites',
  open: 'Anybody',
} as const

function Plan({ shop, email }: { shop: string; email: string | null }) {
  const [answers, setAnswers] = useState<Omit<LiveAnswers, 'shop' | 'email'>>({
    coins: new Set(USUAL_COINS),
    baseUrl: window.location.origin,
    publicChains: new Set(),
    signerKeyFile: '',
    signUp: 'closed',
    backupTo: '',
  })
  const set = <Name extends keyof typeof answers>(name: Name, value: (typeof answers)[Name]) =>
    setAnswers((old) => ({ ...old, [name]: value }))
  const { coins, baseUrl, publicChains, signerKeyFile, signUp, backupTo } = answers
  return (
    <>
      <Card title="1. Choose what your buyers see">
        <div className="stack large">
          <p>The coins that you take and the address of your checkout. You can choose these yourself.</p>
          <fieldset>
            <legend>Coins</legend>
            {COIN_NAMES.map((coin) => (
              <Checkbox
                key={coin}
                label={COINS[coin].name}
                checked={coins.has(coin)}
                onChange={() =>
                  set(
                    'coins',
                    new Set(COIN_NAMES.filter((one) => (one === coin ? !coins.has(one) : coins.has(one)))),
                  )
                }
              />
            ))}
          </fieldset>
          <Field
            label="Address that buyers open"
            hint="Use https and your own domain."
            type="url"
            value={baseUrl}
            onChange={(event) => set('baseUrl', event.target.value.trim())}
          />
          {baseUrl.startsWith('https://') ? null : (
            <Note kind="warn">
              <p>Live mode needs an https address: put a proxy with a certificate in front of Paylink.</p>
            </Note>
          )}
          <p className="quiet">
            If your buyers pay from exchanges, set a{' '}
            <Link to="/settings/rules" search={{ mode: 'live' }}>
              payment tolerance
            </Link>
            : exchanges often take their fee out of what they send.
          </p>
        </div>
      </Card>
      <Card title="2. Decide with whoever runs this server">
        <div className="stack">
          <p>
            Where payments are read, where keys and backups are kept, and who may join: what keeps your money
            safe.
          </p>
          <details>
            <summary>Networks, keys, accounts and backups</summary>
            <div className="stack large">
              {chainsOf(coins).map((chain) => (
                <ChainSource
                  key={chain}
                  chain={chain}
                  isPublic={publicChains.has(chain)}
                  onChoose={(isPublic) => {
                    const next = new Set(publicChains)
                    if (isPublic) next.add(chain)
                    else next.delete(chain)
                    set('publicChains', next)
                  }}
                />
              ))}
              <Field
                label="File with the key that seals the seed"
                hint="On another disk than the data. Make it with: openssl rand -hex 32. Empty: beside the seed."
                placeholder="/mnt/keys/paylink-signer.key"
                value={signerKeyFile}
                onChange={(event) => set('signerKeyFile', event.target.value.trim())}
              />
              <Select
                label="Who may create an account here"
                value={signUp}
                onChange={({ target: { value } }) =>
                  set('signUp', value === 'open' || value === 'invite' ? value : 'closed')
                }
              >
                {Object.entries(SIGN_UPS).map(([value, label]) => (
                  <option key={value} value={value}>
                    {label}
                  </option>
                ))}
              </Select>
              <Field
                label="Where encrypted backups go"
                hint="A folder, or s3://bucket/prefix. Empty: nowhere."
                placeholder="/mnt/backups"
                value={backupTo}
                onChange={(event) => set('backupTo', event.target.value.trim())}
              />
            </div>
          </details>
        </div>
      </Card>
      <Card title="3. Turn it on">
        <div className="stack">
          <p>
            One command connects the networks and tries a live payment of one dollar. Copy it, and send it to
            whoever runs this server.
          </p>
          {coins.size === 0 ? (
            <Note kind="warn">
              <p>Choose a coin first.</p>
            </Note>
          ) : (
            <Snippet label="Setup command" code={setupCommandFor({ ...answers, shop, email })} />
          )}
          <p className="quiet">
            For whoever runs the server: stop Paylink, run this in its folder, and start it again. It asks for
            what no web page should see: passwords of nodes and mail server, and the 24 words of the seed,
            which you write on paper. Then it writes paylink.env, checks everything, and follows the live
            payment to <em>paid</em>.
          </p>
        </div>
      </Card>
    </>
  )
}

const PROVIDERS_HINT =
  'No node to run. Two must agree before anything is paid; one alone can delay payments, or hide them until it is replaced. They limit calls.'

/** Where the blocks of one chain come from, and what that means. */
function ChainSource({
  chain,
  isPublic,
  onChoose,
}: {
  chain: Chain
  isPublic: boolean
  onChoose: (isPublic: boolean) => void
}) {
  if (!PUBLIC_CHAINS.includes(chain)) {
    return (
      <p>
        {chainName(chain)} needs your own node, or two providers that you choose: the command asks for the
        URL.
      </p>
    )
  }
  return (
    <fieldset>
      <legend>How does Paylink connect to {chainName(chain)}?</legend>
      <Checkbox
        type="radio"
        name={chain}
        label="My own node"
        hint="Nobody else is trusted. The command asks for its URL."
        checked={!isPublic}
        onChange={() => onChoose(false)}
      />
      <Checkbox
        type="radio"
        name={chain}
        label="Two independent public providers"
        hint={`${PROVIDERS_HINT}${chain === 'bitcoin' ? ' Payouts in Bitcoin need a node.' : ''}`}
        checked={isPublic}
        onChange={() => onChoose(true)}
      />
    </fieldset>
  )
}
