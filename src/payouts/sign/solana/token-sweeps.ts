import { isAssetId, isSplToken, type Network } from '../../../core/assets.ts'
import type { SolanaReading } from '../../store/solana-accounts.ts'
import { saveSignedRequest } from '../../store/solana-requests.ts'
import { countSignedTokenSweeps, listOpenTokenSweeps } from '../../store/solana-token-sweeps.ts'
import { alert } from '../alert.ts'
import type { SigningContext } from '../signing-context.ts'
import type { SolanaSignerAccountKeys } from './solana-accounts.ts'
import { signVaultSweep } from './solana-sweeps.ts'

/** Sweeps of a network looked at in one turn, and signed in an hour: forged rows can burn no more fees than these. */
const SWEEPS_PER_TURN = 20
const SWEEPS_PER_HOUR = 500
const HOUR_MS = 3_600_000

/** Signs the sweeps of tokens that are asked for; one that nobody may have does not hold up the others. */
export async function signTokenSweeps(
  signer: SigningContext,
  task: {
    readonly network: Network
    readonly keys: SolanaSignerAccountKeys
    readonly reading: SolanaReading
  },
): Promise<void> {
  const { pool, clock } = signer
  const { network, keys, reading } = task
  const open = await listOpenTokenSweeps(pool, network, SWEEPS_PER_TURN)
  const wanted = open.filter(({ signed }) => signed === null)
  if (wanted.length === 0) return
  const since = new Date(clock().getTime() - HOUR_MS)
  if ((await countSignedTokenSweeps(pool, network, since)) >= SWEEPS_PER_HOUR) {
    alert(
      signer,
      { id: network },
      'as many sweeps of tokens were signed as an hour may have; the others wait',
    )
    return
  }
  for (const { sweep } of wanted) {
    if (!isAssetId(sweep.asset) || !isSplToken(sweep.asset)) {
      alert(signer, sweep, 'a sweep was asked for of what is no token of Solana')
      continue
    }
    const signed = await signVaultSweep(signer, { network, keys, sweep, reading })
    if (signed !== null)
      await saveSignedRequest(
        pool,
        { table: 'solana_token_sweep', network, id: sweep.id },
        { ...signed, now: clock() },
      )
  }
}
