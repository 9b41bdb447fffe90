/** An output of a transaction, on a chain of coins. */
export type Outpoint = { readonly txid: string; readonly outputIndex: number }

export const outpointKey = ({ txid, outputIndex }: Outpoint): string => `${txid}:${outputIndex}`
