/** Pauses between two looks at a node's tip, milliseconds; those of public EVM networks are in their registry. */
/** At a node of Bitcoin's family that says nothing by itself, and at one whose notifications may fall silent. */
export const UTXO_PROBE_MS = { alone: 100, besideZmq: 200 } as const
export const SOLANA_PROBE_MS = 400
/** Of a private EVM chain. */
export const EVM_PRIVATE_PROBE_MS = 100
