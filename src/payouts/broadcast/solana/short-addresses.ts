import { balanceIn } from '../../../chain/solana/find-transfers.ts'
import type { TransactionAlone } from '../../../chain/solana/solana-answers.ts'
import type { AssetId } from '../../../core/assets.ts'
import type { SolanaMint } from '../../../core/chain/solana-mints.ts'
import { withSystemTransaction } from '../../../postgres/transaction.ts'
import { isDue } from '../../../runtime/clock.ts'
import { DeduplicatedLog } from '../../../runtime/deduplicated-log.ts'
import { bookFoundSweep, type FoundSweep } from '../../store/vault-sweeps.ts'
import { unlessRefused } from '../unless-refused.ts'
import type { SolanaParts } from './solana-parts.ts'

/** Transactions of an address that are looked through for a sweep, newest first, and how often at most. */
const SOUGHT_MAX = 50
const SEEK_INTERVAL_MS = 60_000

/** A deposit address that holds less than the books say; base units. */
type ShortAddress = {
  readonly asset: AssetId
  /** Null for SOL. */
  readonly mint: SolanaMint | null
  readonly owner: string
  readonly index: number
  /** Where its money lies, and where it is swept to: addresses, of a token its accounts. */
  readonly account: string
  readonly vault: string
  readonly expected: bigint
  readonly held: bigint
}

type Parts = Omit<SolanaParts, 'tokens'>

/** Deposit addresses that hold less than the books say, and when the chain was last asked why. */
export class ShortAddresses {
  readonly #parts: Parts
  readonly #soughtAtMs = new Map<string, number>()
  readonly #alerts = new DeduplicatedLog()

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /**
   * Why an address holds less than the books say: a sweep that the database does not know of, because it was restored or
   * a node did not know of it when it was asked. The chain reports it, and it is booked. Anything else is an alarm. What a
   * node refuses to say of one holds up no other.
   */
  async explain(short: ShortAddress): Promise<void> {
    const { account: about } = short
    await unlessRefused(this.#parts, { about, alerts: this.#alerts }, () => this.#explain(short))
  }

  async #explain(short: ShortAddress): Promise<void> {
    const { pool, network, clock, log } = this.#parts
    const { asset, owner, account, index, expected, held } = short
    const now = clock()
    const soughtAtMs = this.#soughtAtMs.get(account)
    if (soughtAtMs !== undefined && !isDue(soughtAtMs, SEEK_INTERVAL_MS, now.getTime())) return
    this.#soughtAtMs.set(account, now.getTime())
    let isExplained = false
    for (const sweep of await this.#findSweeps(short)) {
      await this.#parts.sealer.landed(sweep.txid)
      const booked = await withSystemTransaction(pool, (tx) =>
        bookFoundSweep(tx, network, { ...sweep, asset, index }, now),
      )
      if (!booked) continue
      isExplained = true
      log.warn({ network, owner, txid: sweep.txid }, 'a sweep that the database did not know of is booked')
    }
    // What is booked may not be all that is missing.
    if (isExplained) this.#soughtAtMs.delete(account)
    if (isExplained || soughtAtMs !== undefined) return
    const amounts = { held: held.toString(), expected: expected.toString() }
    log.error({ network, asset, owner, ...amounts }, 'a deposit address holds less than was paid to it')
  }

  /** Final transactions that moved money of the address into the vault, newest first. */
  async #findSweeps({ account, vault, mint }: ShortAddress): Promise<Pick<FoundSweep, 'txid' | 'amount'>[]> {
    const rpc = this.#parts.providers.current
    const found: Pick<FoundSweep, 'txid' | 'amount'>[] = []
    for (const { signature } of (await rpc.signaturesFor(account, null, 0)).slice(0, SOUGHT_MAX)) {
      const transaction = await rpc.transaction(signature, 'finalized')
      if (transaction === null || transaction.failed) continue
      const amount = -gainOf(transaction, account, mint)
      if (amount > 0n && gainOf(transaction, vault, mint) >= amount) found.push({ txid: signature, amount })
    }
    return found
  }
}

/** What a transaction brought to an account, lamports or units of the mint; below zero where it took some. */
function gainOf(
  { accounts, pre, post, preTokens, postTokens }: TransactionAlone,
  account: string,
  mint: SolanaMint | null,
): bigint {
  const at = accounts.indexOf(account)
  if (mint === null) return (post[at] ?? 0n) - (pre[at] ?? 0n)
  return balanceIn(postTokens, at, mint, null) - balanceIn(preTokens, at, mint, null)
}
