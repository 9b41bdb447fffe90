import { raw } from 'hono/html'
import { ASSETS, type AssetId } from '../../core/assets.ts'

/** A coin's colour, and its sign as lines or shapes on a 24 × 24 grid. Drawn here; no coin's own logo. */
const MARKS: {
  readonly [symbol: string]: { readonly colour: string; readonly d: string; readonly solid?: true }
} = {
  BTC: {
    colour: '#b85c00',
    d: 'M9 6.5h4.3a2.6 2.6 0 0 1 0 5.2H9zm0 5.2h5a2.9 2.9 0 0 1 0 5.8H9zm0-5.2v11M11 4.7v1.8m2.6-1.8v1.8M11 17.5v1.8m2.6-1.8v1.8',
  },
  LTC: { colour: '#345d9d', d: 'M12.2 5.5L9.3 18h7.2M7.5 14.2l7-3.2' },
  ETH: { colour: '#4a5bb5', d: 'M12 4l5 8-5 3-5-3zM7.6 14.2L12 20l4.4-5.8L12 16.9z', solid: true },
  USDC: {
    colour: '#1f62b0',
    d: 'M12 5v14M15.4 8.9c-.5-1.2-1.8-1.9-3.4-1.9-1.9 0-3.3.9-3.3 2.5 0 3.5 6.8 1.6 6.8 5 0 1.6-1.5 2.5-3.5 2.5-1.7 0-3-.7-3.5-1.9',
  },
  POL: {
    colour: '#7b3fe4',
    d: 'M12 5.2l5.9 3.4v6.8L12 18.8l-5.9-3.4V8.6zM12 12l5.9-3.4M12 12v6.8M12 12L6.1 8.6',
  },
  PYUSD: { colour: '#0b57b8', d: 'M9 18.5V6h4a3.4 3.4 0 0 1 0 6.8H9m-2.2-3.2h7M6.8 12h5.4' },
  USDT: { colour: '#1a7f64', d: 'M7.5 7.5h9M12 7.5V18M7 11.5c2.5 1.6 7.5 1.6 10 0' },
  SOL: {
    colour: '#6b3fd4',
    d: 'M8.3 6.5H18l-2.3 2.4H6zM6 10.8h9.7l2.3 2.4H8.3zM8.3 15.1H18l-2.3 2.4H6z',
    solid: true,
  },
}

/** A coin's sign in its colour, beside words that name the coin. `at` places it in another drawing. */
export function coinMark(asset: AssetId, at = 'class="mark"'): string {
  const mark = MARKS[ASSETS[asset].symbol]
  if (mark === undefined) return ''
  const paint =
    mark.solid === true
      ? 'fill="#fff"'
      : 'fill="none" stroke="#fff" stroke-width="1.8" stroke-linecap="round" stroke-linejoin="round"'
  return `<svg ${at} viewBox="0 0 24 24" aria-hidden="true"><circle cx="12" cy="12" r="12" fill="${mark.colour}"/><path ${paint} d="${mark.d}"/></svg>`
}

export const CoinMark = ({ asset }: { asset: AssetId }) => raw(coinMark(asset))
