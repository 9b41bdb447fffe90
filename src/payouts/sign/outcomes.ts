import type { Network } from '../../core/assets.ts'
import { isOutcomeSealed, isReadingSealed, type Outcome, txidOf } from '../../secrets/outcome-key.ts'
import { listOutcomesFromBefore, loadOutcomeSeals, refuseOutcomeSeal } from '../store/outcome-seals.ts'
import { outcomeKeyOf } from './pinned-keys.ts'
import type { CreditPlace, SignedMove } from './signed-credits.ts'
import type { SigningContext } from './signing-context.ts'

/** What the database says of signatures, by the ids of what they are for. By itself it can only lower what was signed. */
export type Unmoved = {
  /** Sweeps that are in no block: they brought nothing. */
  readonly unlanded: readonly string[]
  /** Payouts that can never happen: they took nothing. */
  readonly failed: readonly string[]
}

type Credit = {
  /** Base units. */
  readonly amount: bigint
  /** Sweeps and payouts that the database counts in, and that nobody sealed. */
  readonly unsealed: readonly string[]
}

/** Under which kind the signer's file of what it has seen holds outcomes. */
const KIND = 'outcome'
const nameOf = (network: string, kind: Outcome['kind'], txid: string): string => `${network} ${kind} ${txid}`
const isKnown = ({ seen }: SigningContext, outcome: Outcome): boolean =>
  seen.since(KIND, nameOf(outcome.network, outcome.kind, txidOf(outcome))) !== null

/**
 * Takes over, once in the life of the signer's folder, what stood in the books before outcomes were sealed. Only a migration
 * wrote that; what is written later needs a seal.
 */
export async function beginOutcomes({ seen, pool, clock }: SigningContext): Promise<void> {
  if (seen.hasBegun(KIND)) return
  const now = clock()
  const before = await listOutcomesFromBefore(pool)
  const known = before.map(({ network, kind, txid }) => ({ key: nameOf(network, kind, txid), seenAt: now }))
  await seen.begin(KIND, known, now)
}

/**
 * What a merchant may be paid from a wallet that merchants share: the deposits that the signer swept there for the merchant,
 * less the payouts that it signed for the merchant. A sweep counts in, and a payout that failed counts back, where the
 * database says so and the watcher's process, which saw the chain, has sealed it: a row alone adds nothing. What was once
 * found sealed the signer keeps itself.
 */
export async function creditOf(signer: SigningContext, place: CreditPlace, rows: Unmoved): Promise<Credit> {
  const { sweeps, payouts } = signer.journal.signedAt(place)
  const [unlanded, failed] = [new Set(rows.unlanded), new Set(rows.failed)]
  const { network } = place
  const claims = [
    ...sweeps
      .filter(({ ids }) => !ids.every((id) => unlanded.has(id)))
      .map((sweep) => claimOf(sweep, landedOutcomes(network, sweep))),
    ...payouts
      .filter(({ id }) => failed.has(id))
      .map((payout) => claimOf(payout, failedOutcome(network, payout))),
  ]
  const isGood = ({ outcomes }: Claim) => outcomes.some((outcome) => isKnown(signer, outcome))
  await keepSealed(
    signer,
    network,
    claims.filter((claim) => !isGood(claim)).flatMap(({ outcomes }) => outcomes),
  )
  const paid = payouts.reduce((sum, { amount }) => sum + amount, 0n)
  const good = claims.filter(isGood)
  return {
    amount: good.reduce((sum, { amount }) => sum + amount, -paid),
    unsealed: claims.filter((claim) => !good.includes(claim)).map(({ id }) => id),
  }
}

/** Returns a test for whether the watcher has sealed one of these outcomes, now or before. */
export async function sealedOf(
  signer: SigningContext,
  network: Network,
  outcomes: readonly Outcome[],
): Promise<(outcome: Outcome) => boolean> {
  const unknown = outcomes.filter((outcome) => !isKnown(signer, outcome))
  await keepSealed(signer, network, unknown)
  return (outcome) => isKnown(signer, outcome)
}

/** Whether the watcher's process made this reading of a hot wallet. */
export async function isSealedReading(
  signer: SigningContext,
  { text, seal }: { readonly text: string; readonly seal: Buffer | null },
): Promise<boolean> {
  const key = await knownKey(signer)
  return key !== null && seal !== null && isReadingSealed(key, text, seal)
}

type Claim = { readonly id: string; readonly amount: bigint; readonly outcomes: readonly Outcome[] }
const claimOf = ({ id, amount }: SignedMove, outcomes: readonly Outcome[]): Claim => ({
  id,
  amount,
  outcomes,
})

const landedOutcomes = (network: string, { txids }: SignedMove): Outcome[] =>
  txids.map((txid) => ({ kind: 'landed', network, txid }))
const failedOutcome = (network: string, { id: payoutId, txids }: SignedMove): Outcome[] => [
  { kind: 'failed', network, payoutId, txids },
]

/** Null, and the log says so, where the signer knows none. */
async function knownKey(signer: SigningContext): Promise<Uint8Array | null> {
  const key = await outcomeKeyOf(signer)
  if (key === null && signer.alerts.isNew('outcome key', 'none'))
    signer.log.error(
      'no sweep counts, and no payout of ETH, USDC or SOL is signed: the signer does not know by which key the watcher seals. Give it the file outcome-key, which the API writes beside APPROVAL_KEY_FILE, or run: paylink signer trust-outcome-key KEY',
    )
  return key
}

/** Keeps those of these outcomes that the watcher's key sealed. */
async function keepSealed(
  signer: SigningContext,
  network: string,
  outcomes: readonly Outcome[],
): Promise<void> {
  if (outcomes.length === 0) return
  const { pool, seen, clock, alerts, log } = signer
  const key = await knownKey(signer)
  if (key === null) return
  const sealed: Outcome[] = []
  for (const kind of ['landed', 'failed', 'next_nonce'] as const) {
    const some = outcomes.filter((outcome) => outcome.kind === kind)
    const seals = await loadOutcomeSeals(pool, { network, kind, txids: some.map(txidOf) })
    for (const outcome of some) {
      const seal = seals.get(txidOf(outcome))
      if (seal === undefined) continue
      if (isOutcomeSealed(key, outcome, seal)) {
        sealed.push(outcome)
        continue
      }
      // A watcher asks the chain, and seals it again.
      await refuseOutcomeSeal(pool, { network, kind, txid: txidOf(outcome), now: clock() })
      if (alerts.isNew(txidOf(outcome), 'foreign seal'))
        log.error(
          { network, kind, txid: txidOf(outcome) },
          'the seal of an outcome is not made with the key that the signer knows, and counts for nothing: somebody wrote it, or WATCHER_KEY is another installation’s',
        )
    }
  }
  const now = clock()
  await seen.note(
    KIND,
    sealed.map((outcome) => ({ key: nameOf(network, outcome.kind, txidOf(outcome)), seenAt: now })),
  )
}
