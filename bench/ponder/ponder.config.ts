import { readFileSync } from 'node:fs'
import { createConfig } from 'ponder'

const TRANSFER = {
  type: 'event',
  name: 'Transfer',
  inputs: [
    { name: 'from', type: 'address', indexed: true },
    { name: 'to', type: 'address', indexed: true },
    { name: 'value', type: 'uint256', indexed: false },
  ],
} as const
/** Ponder asks a provider for 20 answers a second, and learns by and by that it may ask for more: one in many places may be asked at once. */
const PLACES = 64

const blocks = { startBlock: Number(process.env.START_BLOCK), endBlock: Number(process.env.END_BLOCK) }
const addresses = readFileSync(process.env.ADDRESSES_FILE ?? '', 'utf8').split('\n') as `0x${string}`[]
const shop = { chain: 'anvil' as const, address: addresses, ...blocks }

/**
 * Every transfer of one token between two blocks, as a listener that knows no end of its addresses must see them; and
 * where `COIN` is 1 the coin that comes to these addresses, contracts' payments included.
 */
export default createConfig({
  chains: {
    anvil: {
      id: Number(process.env.CHAIN_ID),
      rpc: Array.from({ length: PLACES }, () => process.env.RPC_URL ?? ''),
    },
  },
  contracts: {
    Usdc: { abi: [TRANSFER], chain: 'anvil', address: process.env.TOKEN as `0x${string}`, ...blocks },
  },
  accounts: process.env.COIN === '1' ? { Shop: shop } : {},
})
