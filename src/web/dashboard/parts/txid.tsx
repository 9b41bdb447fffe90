import { explorerUrl } from '../../../core/checkout/explorer.ts'
import type { PaidAssetName } from '../api/types.ts'
import { CopyButton } from './copy.tsx'

/** A transaction's id, to copy, and in live mode to look at where everybody can. */
export function Txid({ txid, asset, livemode }: { txid: string; asset: PaidAssetName; livemode: boolean }) {
  return (
    <div className="txid">
      <code>{txid}</code>
      <CopyButton text={txid} />
      {livemode ? (
        <a href={explorerUrl(asset, txid)} target="_blank" rel="noopener noreferrer">
          Explorer
        </a>
      ) : null}
    </div>
  )
}
