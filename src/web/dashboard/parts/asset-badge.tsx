import type { Asset } from '../api/types.ts'
import { Badge } from './badge.tsx'

/** Whether a coin that the shop accepts can be sold in now. */
export function AssetBadge({ asset }: { asset: Asset }) {
  if (!asset.available) {
    return (
      <span className="end-note">
        <Badge tone="warn">Not available</Badge>
        <small className="quiet">{asset.unavailable_reason}</small>
      </span>
    )
  }
  if (asset.network_status !== null && asset.network_status !== 'ok') {
    return (
      <span className="end-note">
        <Badge tone="warn">{asset.network_status}</Badge>
        <small className="quiet">{asset.network_reason}</small>
      </span>
    )
  }
  return <Badge tone="good">Available</Badge>
}
