import { address, getAddressEncoder, getProgramDerivedAddress } from '@solana/kit'
import { LRUCache } from 'lru-cache'
import { entriesUpTo } from '../../runtime/cache-size.ts'
import { NATIVE_MINT } from './find-transfers.ts'

const TOKEN_PROGRAM = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA'
const ASSOCIATED_TOKEN_PROGRAM = address('ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL')

/** The token accounts where wallets put an owner's wrapped SOL, remembered: deriving one takes time. */
export class TokenAccounts {
  readonly #known: LRUCache<string, string>

  constructor(rememberedMax: number) {
    this.#known = new LRUCache(entriesUpTo(rememberedMax))
  }

  async of(owner: string): Promise<string> {
    const known = this.#known.get(owner)
    if (known !== undefined) return known
    const bytes = (text: string) => getAddressEncoder().encode(address(text))
    const [derived] = await getProgramDerivedAddress({
      programAddress: ASSOCIATED_TOKEN_PROGRAM,
      seeds: [bytes(owner), bytes(TOKEN_PROGRAM), bytes(NATIVE_MINT)],
    })
    this.#known.set(owner, derived)
    return derived
  }
}
