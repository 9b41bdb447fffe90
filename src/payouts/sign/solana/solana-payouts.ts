import { address, isAddress } from '@solana/kit'
import {
  getCreateAccountWithSeedInstruction,
  getInitializeNonceAccountInstruction,
  getTransferSolInstruction,
  SYSTEM_PROGRAM_ADDRESS,
} from '@solana-program/system'
import { isChainsOwnAddress } from '../../../chain/solana/chains-own-address.ts'
import { NONCE_BYTES } from '../../../chain/solana/durable-nonce.ts'
import { ownerOf } from '../../../chain/solana/watched-owners.ts'
import { isToken, keyspaceOfNetwork, type Network } from '../../../core/assets.ts'
import { PAYOUT_UNIT_LIMIT, solanaFee, unitPriceWithin } from '../../../core/payout/solana-fee.ts'
import { isDepositIndex, solanaKeyspace } from '../../../signer/solana-addresses.ts'
import { loadPayoutGas } from '../../store/payout-transactions.ts'
import {
  loadSolanaSignerAccounts,
  type SolanaReading,
  saveSolanaAccounts,
  sumSignedPayouts,
} from '../../store/solana-accounts.ts'
import {
  countSignedMaintenance,
  listOpenMaintenance,
  type MaintenanceTransaction,
  type SweepSource,
} from '../../store/solana-maintenance.ts'
import { type SignedRequest, saveSignedRequest } from '../../store/solana-requests.ts'
import { listUnmoved } from '../../store/swept-credit.ts'
import { listUnlandedSweeps, loadVaultCredit } from '../../store/vault-sweeps.ts'
import { publishX402FeePayer } from '../../store/x402-fee-payer.ts'
import { alert } from '../alert.ts'
import { isSignedFor, type PayoutSigner, type Signed, type SigningTask, WAITS } from '../payout-signer.ts'
import type { SigningContext } from '../signing-context.ts'
import { unlessFailing } from '../unless-failing.ts'
import { adoptFoundSweeps, adoptVaultSweeps } from './adopt-vault-sweeps.ts'
import { findFreeNonce, payoutEntryOf } from './payout-nonces.ts'
import { reclaimableAt } from './reclaimable.ts'
import { signableReading } from './signable-reading.ts'
import {
  nonceSeed,
  type SolanaSigned,
  type SolanaSignerAccountKeys,
  signerAccountsOf,
  signerOf,
  signWithBlockhash,
  signWithNonce,
} from './solana-accounts.ts'
import { signVaultSweep } from './solana-sweeps.ts'
import { signTokenPayout } from './token-payouts.ts'
import { signTokenSweeps } from './token-sweeps.ts'

/** Maintenance transactions of a network signed in one turn, and in an hour: forged rows can burn no more fees than these. */
const CHORES_PER_TURN = 20
const CHORES_PER_HOUR = 500
/** Addresses funded, and funds taken back, in an hour: counted apart, so that they hold up no payout. */
const FUNDINGS_PER_HOUR = 500
const HOUR_MS = 3_600_000
/** More than any account of a nonce must hold, or a vault without data: 0.01 SOL. */
const RENT_MAX = 10_000_000n

/** Publishes the network's accounts where the database does not have them, and signs the maintenance transactions that wait. */
async function maintain(signer: SigningContext, network: Network): Promise<void> {
  const { pool, clock } = signer
  const keys = await signerAccountsOf(signer, network)
  const [feePayer, vault] = [keys.feePayer.address, keys.vault.address]
  const signerAccounts = await loadSolanaSignerAccounts(pool, network)
  const isPublished =
    signerAccounts?.feePayer === feePayer &&
    signerAccounts.vault === vault &&
    signerAccounts.nonceAccounts.join() === keys.nonceAccounts.join()
  if (!isPublished)
    await saveSolanaAccounts(pool, network, { feePayer, vault, nonceAccounts: keys.nonceAccounts })
  await publishX402FeePayer(pool, network, keys.x402FeePayer.address)
  await adoptVaultSweeps(signer, network, keys)
  await adoptFoundSweeps(signer, network, keys)
  const reading = signableReading(signerAccounts?.reading ?? null)
  if (reading === null || !isPublished) return
  await signTokenSweeps(signer, { network, keys, reading })
  const open = await listOpenMaintenance(pool, network, CHORES_PER_TURN)
  const wanted = open.filter(({ signed }) => signed === null)
  if (wanted.length === 0) return
  for (const { kinds, most, waits } of HOURLY) {
    const some = wanted.filter(({ maintenance }) => kinds.includes(maintenance.kind))
    const since = new Date(clock().getTime() - HOUR_MS)
    if (some.length === 0) continue
    if ((await countSignedMaintenance(pool, network, { kinds, since })) >= most) {
      alert(signer, { id: network }, waits)
      continue
    }
    for (const { maintenance } of some) {
      const signed = await signMaintenance(signer, { network, keys, maintenance, reading })
      if (signed !== null)
        await saveSignedRequest(
          pool,
          { table: 'solana_chore', network, id: maintenance.id },
          { ...signed, now: clock() },
        )
    }
  }
}

const HOURLY: readonly {
  readonly kinds: readonly MaintenanceTransaction['kind'][]
  readonly most: number
  readonly waits: string
}[] = [
  {
    kinds: ['nonce', 'sweep'],
    most: CHORES_PER_HOUR,
    waits: 'as many sweeps were signed as an hour may have; the others wait',
  },
  {
    kinds: ['fund', 'reclaim'],
    most: FUNDINGS_PER_HOUR,
    waits: 'as many addresses were funded as an hour may have; the others wait',
  },
]

/** Moves money between the signer's own accounts only, whatever the maintenance transaction says. Null where it says too much. */
async function signMaintenance(
  signer: SigningContext,
  task: {
    readonly network: Network
    readonly keys: SolanaSignerAccountKeys
    readonly maintenance: MaintenanceTransaction
    readonly reading: SolanaReading
  },
): Promise<SignedRequest | null> {
  const { network, keys, maintenance, reading } = task
  if (maintenance.kind === 'sweep')
    return signVaultSweep(signer, { network, keys, sweep: ofLamports(maintenance), reading })
  const { feePayer } = keys
  const build = () =>
    maintenance.kind === 'nonce'
      ? signNonce(signer, { keys, maintenance, reading })
      : signFunding(signer, { network, feePayer, maintenance, reading })
  const signed = await unlessFailing(signer, maintenance, build, null)
  return signed === null ? null : { ...signed, lastValidHeight: reading.lastValidHeight }
}

const ofLamports = ({ id, sources }: { readonly id: string; readonly sources: readonly SweepSource[] }) => ({
  id,
  asset: 'SOL' as const,
  sources: sources.map(({ index, lamports: amount }) => ({ index, amount })),
})

type NonceTask = {
  readonly keys: SolanaSignerAccountKeys
  readonly maintenance: Extract<MaintenanceTransaction, { readonly kind: 'nonce' }>
  readonly reading: SolanaReading
}

/** Creates the account of a nonce. Null if the maintenance transaction says too much. */
async function signNonce(
  signer: SigningContext,
  { keys, maintenance, reading }: NonceTask,
): Promise<SolanaSigned | null> {
  const { feePayer, vault } = keys
  const account = keys.nonceAccounts[maintenance.place]
  const lamports = reading.nonceRentExempt
  if (account === undefined || lamports > RENT_MAX || maintenance.vaultLamports > RENT_MAX) {
    alert(signer, { id: maintenance.id }, 'a nonce was asked for that no payout needs, and is not made')
    return null
  }
  const amount = maintenance.vaultLamports
  const given =
    amount === 0n ? [] : [getTransferSolInstruction({ source: feePayer, destination: vault.address, amount })]
  const create = getCreateAccountWithSeedInstruction({
    payer: feePayer,
    newAccount: account,
    base: feePayer.address,
    seed: nonceSeed(maintenance.place),
    amount: lamports,
    space: NONCE_BYTES,
    programAddress: SYSTEM_PROGRAM_ADDRESS,
  })
  const initialize = getInitializeNonceAccountInstruction({
    nonceAccount: account,
    nonceAuthority: feePayer.address,
  })
  return signWithBlockhash(feePayer, [create, initialize, ...given], reading)
}

/** What an account must hold, from the fee payer to a deposit address, and no more than that back from there. */
async function signFunding(
  signer: SigningContext,
  task: {
    readonly network: Network
    readonly feePayer: SolanaSignerAccountKeys['feePayer']
    readonly maintenance: Extract<MaintenanceTransaction, { kind: 'fund' | 'reclaim' }>
    readonly reading: SolanaReading
  },
): Promise<SolanaSigned | null> {
  const { network, feePayer, maintenance, reading } = task
  const keyspace = solanaKeyspace(network)
  const [{ index, lamports }] = maintenance.sources
  if (!isDepositIndex(index)) {
    alert(signer, { id: maintenance.id }, 'what is no address was to be funded, or its funds reclaimed')
    return null
  }
  if (lamports > RENT_MAX) {
    alert(signer, { id: maintenance.id }, 'an address was to be funded with more than an account must hold')
    return null
  }
  if (maintenance.kind === 'reclaim' && lamports > (await reclaimableAt(signer, network, index))) {
    alert(signer, { id: maintenance.id }, 'more was to be reclaimed from an address than was put there')
    return null
  }
  const [source, destination] =
    maintenance.kind === 'fund'
      ? [feePayer, address(ownerOf(signer.solana.ownerAt(keyspace, index)))]
      : [await signerOf(signer.solana.keyAt(keyspace, index)), feePayer.address]
  const move = getTransferSolInstruction({ source, destination, amount: lamports })
  return signWithBlockhash(feePayer, [move], reading)
}

/**
 * Out of the vault, over a durable nonce that nothing else was ever signed over: whatever else happens, of all that is
 * signed over one value of a nonce one transaction alone can happen. The fee payer gets back what the chain takes.
 */
async function signFirst(signer: SigningContext, { payout, digest }: SigningTask): Promise<Signed> {
  const { pool, clock } = signer
  const { network, asset, amount, networkFeeMax } = payout
  const keys = await signerAccountsOf(signer, network)
  const reading = signableReading((await loadSolanaSignerAccounts(pool, network))?.reading ?? null)
  if (reading === null) return WAITS
  const { vault, feePayer, x402FeePayer, nonceAccounts } = keys
  const own: readonly string[] = [
    ...[vault, feePayer, x402FeePayer].map((each) => each.address),
    ...nonceAccounts,
  ]
  const { destination } = payout
  // What goes to the signer's own accounts would be booked as paid and stay; what the chain never takes would keep its nonce.
  if (!isAddress(destination) || own.includes(destination) || isChainsOwnAddress(destination))
    return { kind: 'refused', code: 'destination_invalid' }
  const tenant = { merchantId: payout.merchantId, livemode: payout.livemode }
  const gas = await loadPayoutGas(pool, tenant, payout.id)
  if (gas === null) return WAITS
  if (gas === 0n) return { kind: 'refused', code: 'destination_refuses' }
  if (isToken(asset)) return signTokenPayout(signer, { payout, digest }, { keys, reading, gas })
  const unitPrice = unitPriceWithin(reading.unitPrice, networkFeeMax)
  if (unitPrice === null) return { kind: 'refused', code: 'fee_above_limit' }
  // What was swept for others, or is signed away, is not this one's; a sweep brings what is missing.
  const credit = await loadVaultCredit(pool, tenant, { network, keyspace: keyspaceOfNetwork(network), asset })
  if (credit >= amount) {
    const { failed } = await listUnmoved(pool, tenant, payout)
    const unlanded = await listUnlandedSweeps(pool, { network, asset })
    if (!(await isSignedFor(signer, payout, { unlanded, failed }))) return WAITS
  }
  const leaving = await sumSignedPayouts(pool, { network, asset }, reading.readAt)
  if (credit < amount || reading.vaultLamports - reading.rentExempt - leaving < amount) return WAITS
  const nonce = await findFreeNonce(signer, network, keys)
  if (nonce === null) return WAITS
  const networkFee = solanaFee(unitPrice)
  const source = keys.vault
  const moves = [
    getTransferSolInstruction({
      source,
      destination: address(payout.destination),
      amount: amount - networkFee,
    }),
    getTransferSolInstruction({ source, destination: keys.feePayer.address, amount: networkFee }),
  ]
  const budget = unitPrice === 0 ? undefined : { units: PAYOUT_UNIT_LIMIT, price: unitPrice }
  const signed = await signWithNonce(keys.feePayer, moves, nonce, budget)
  const nowMs = clock().getTime()
  return { kind: 'signed', entry: payoutEntryOf({ payout, digest, signed, nonce, networkFee, nowMs }) }
}

/** Payouts on Solana: each over a durable nonce, so that the same bytes are good until they have happened. */
export const SOLANA_PAYOUTS: PayoutSigner = {
  maintain,
  signFirst,
  // The same bytes are sent until they are taken.
  signReplacement: async () => WAITS,
  // What a signature uses up is its nonce, which the journal alone remembers.
  publish: async () => {},
}
