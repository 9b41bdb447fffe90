import { hasBlockTags } from '../../../core/finality.ts'
import type { AssetName } from '../api/types.ts'
import { useMode } from '../app/session.ts'
import { COIN_NAMES, COINS } from '../parts/money.ts'
import { Card } from '../parts/page.tsx'

const WORDS = ['safe', 'finalized'] as const
type Tier = number | (typeof WORDS)[number]
/** What makes a payment final, for each coin: under $1,000, under $10,000, and above. */
export type Tiers = { readonly [coin: string]: [Tier, Tier, Tier] }

const TIER_TITLES = ['Under $1,000', 'Under $10,000', 'Above'] as const
/** How deep a payment must lie before it is final. */
export function TierCard({ tiers, onChange }: { tiers: Tiers; onChange: (tiers: Tiers) => void }) {
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
                      byWord={hasBlockTags(coin)}
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
