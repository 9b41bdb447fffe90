import type { PaidAssetName } from '../api/types.ts'
import { CopyButton } from './copy.tsx'
import { explorerUrl } from './money.ts'

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
