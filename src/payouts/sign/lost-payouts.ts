import { NETWORKS, type Network } from '../../core/assets.ts'
import { insertLostPayouts, listAccountedPayouts } from '../store/lost-payouts.ts'
import type { SigningContext } from './signing-context.ts'

/** Payouts asked about in one question. */
const BATCH_MAX = 10_000

/**
 * Payouts of the journal, oldest first, that the database knows nothing of and the operator has not accepted as lost. The
 * whole journal is compared once; after that only what was missing is.
 */
export async function findLostPayouts({
  pool,
  journal,
}: Pick<SigningContext, 'pool' | 'journal'>): Promise<readonly string[]> {
  const unseen = journal.unseenPayouts()
  for (let at = 0; at < unseen.length; at += BATCH_MAX)
    journal.see(await listAccountedPayouts(pool, unseen.slice(at, at + BATCH_MAX)))
  return journal.unseenPayouts()
}

/**
 * Networks on which nothing new is signed: the database was restored to before a payout there, whose money it takes for
 * the merchant's still. Whatever is signed beside it would be paid out of the money of others.
 */
export async function networksSetBack(signer: SigningContext): Promise<ReadonlySet<Network>> {
  const lost = await findLostPayouts(signer)
  if (lost.length === 0) return new Set()
  const networks = new Map<string, Network>()
  for (const id of lost) {
    const network = NETWORKS.find((each) => each === signer.journal.entriesOf(id)[0]?.network)
    if (network !== undefined) networks.set(id, network)
  }
  await insertLostPayouts(signer.pool, networks, signer.clock())
  if (signer.alerts.isNew(lost[0] ?? '', `${lost.length} lost`))
    signer.log.error(
      { payouts: lost.length, networks: [...new Set(networks.values())] },
      'the journal has payouts that the database does not know, since it was restored from a backup: nothing is signed on their networks until paylink signer recover has brought them back',
    )
  return new Set(networks.values())
}
