import type { OwnedTransfer } from '../../src/core/chain/owned-transfer.ts'
import type { BlocksReading, MempoolContents, TrackedTransfer } from '../../src/core/chain/reconcile.ts'
import type { BlockRef, Payment } from '../../src/core/invoice/types.ts'

/** Readings of a chain and what is recorded of it, with any part changed. */

const NETWORK = 'litecoin-test'
export const READ_AT_MS = 10_000_000

export const blockAt = (height: number, fork = 'a'): BlockRef => ({
  height,
  hash: `${fork}${height}`,
  timeMs: height * 1_000,
})

export function owned(txid: string, outputIndex = 0): OwnedTransfer {
  return {
    tenant: { merchantId: `mer_${txid.length % 2}`, livemode: false },
    invoiceId: `inv_${txid}`,
    txid,
    outputIndex,
    asset: 'LTC',
    amount: 5_000n,
    minimumConfirmations: 1,
  }
}

export function tracked(txid: string, changes: Partial<Payment>): TrackedTransfer {
  const { tenant, invoiceId } = owned(txid)
  const payment: Payment = {
    id: `pay_${txid}`,
    network: NETWORK,
    txid,
    outputIndex: 0,
    asset: 'LTC',
    amount: 5_000n,
    isBlockSum: false,
    transfers: 1,
    parts: null,
    status: changes.block == null ? 'detected' : 'confirming',
    firstSeenMs: 5_000,
    detectedAtMs: 5_000,
    confirmedAtMs: null,
    block: null,
    finality: 2,
    late: false,
    dust: false,
    reviewReason: null,
    resolution: null,
    announced: { confirming: false, review: false },
    bucket: 'none',
    postings: 0,
    ...changes,
  }
  return { tenant, invoiceId, payment }
}

export function blocksReading(changes: Partial<BlocksReading>): BlocksReading {
  return {
    network: NETWORK,
    ancestor: blockAt(10),
    blocks: [],
    reachesTip: true,
    tracked: [],
    isFinalityDeferred: false,
    readAtMs: READ_AT_MS,
    ...changes,
  }
}

export function mempool(changes: Partial<MempoolContents>): MempoolContents {
  return { network: NETWORK, tipHeight: 10, transfers: [], tracked: [], ...changes }
}
export const sighted = (txid: string, firstSeenMs = 5_000) => ({ ...owned(txid), firstSeenMs })
