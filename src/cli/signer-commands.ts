import { text } from 'node:stream/consumers'
import { NETWORKS } from '../core/assets.ts'
import { listAccountKeys, readIndexMarks } from '../db/addresses/account-keys.ts'
import { isSignerActive } from '../db/addresses/signer-lock.ts'
import { findLostPayouts } from '../payouts/sign/lost-payouts.ts'
import { countSigned, PayoutJournal } from '../payouts/sign/payout-journal.ts'
import { type PinName, readPin, trustKey } from '../payouts/sign/pinned-keys.ts'
import { type Recovered, recoverPayouts } from '../payouts/sign/recover-payouts.ts'
import { acceptLostPayout } from '../payouts/store/lost-payouts.ts'
import { systemClock } from '../runtime/clock.ts'
import { StartRefused } from '../runtime/start-refused.ts'
import { parsePublicKey } from '../secrets/public-key-file.ts'
import { type Account, entropyOf, openAccountsOf, wordsOf } from '../signer/derive.ts'
import { readJournal } from '../signer/index-journal.ts'
import { fileKeySource } from '../signer/key-source.ts'
import { openSeed, resealSeed, seedFilePath } from '../signer/seed-file.ts'
import { type Output, withOwnerPool } from './command-context.ts'
import { EXIT_FAILED } from './exit-codes.ts'
import { openSignerFolder, refusable, type SignerPlace, signerPlace, storeSeed } from './signer-place.ts'
import { UsageError } from './usage-error.ts'

/**
 * `paylink signer init`: makes the seed before the first start, or restores it from the 24 words on standard input.
 * The words are shown only where they are asked for. Never writes over a seed.
 */
export async function initSignerCommand(
  options: { readonly showWords: boolean; readonly restore: boolean },
  output: Output,
): Promise<number> {
  const given = options.restore ? await wordsFromStandardInput() : undefined
  const here = signerPlace()
  const entropy = await storeSeed(here, given)
  output.line(
    `The seed is in ${seedFilePath(here.folder)}; the key that opens it is ${here.keySource.description}.`,
  )
  if (options.showWords) {
    output.line('These 24 words are the money. Write them on paper; they are not shown again by themselves.')
    output.line(wordsOf(entropy))
  }
  return 0
}

/** `paylink signer export-xpubs`: the public side of every account, from the seed; the database is not asked. */
export async function exportXpubsCommand(
  options: { readonly json: boolean },
  output: Output,
): Promise<number> {
  const accounts = await accountsOfSeed(signerPlace())
  if (options.json) {
    const listed = accounts.map(({ keyspace, path, xpub, batchKey }) => ({
      keyspace,
      path,
      xpub,
      batch_key: batchKey === null ? null : Buffer.from(batchKey).toString('hex'),
    }))
    output.line(JSON.stringify({ accounts: listed }))
    return 0
  }
  for (const { keyspace, path, xpub, batchKey } of accounts) {
    const key = batchKey === null ? xpub : `addresses are signed by ${Buffer.from(batchKey).toString('hex')}`
    output.line(`${keyspace.padEnd(14)}  ${path.padEnd(18)}  ${key}`)
  }
  return 0
}

/** `paylink signer reseal`: the same seed under the key of another file, when the old one was seen or is retired. */
export async function resealSignerCommand(
  options: { readonly keyFile: string },
  output: Output,
): Promise<number> {
  const { folder, keySource } = signerPlace()
  const next = fileKeySource(options.keyFile, folder)
  await refusable(() => resealSeed(folder, keySource, next, systemClock))
  output.line(`The seed opens with ${options.keyFile} now: set SIGNER_KEY_FILE to it before the next start.`)
  output.line(
    `Backups of the seed from before still open with ${keySource.description}: destroy it with them.`,
  )
  return 0
}

const TRUSTED: { readonly [name in PinName]: (key: string) => string } = {
  'approval-key': (key) => `Payouts are signed that ${key} approved.`,
  'outcome-key': (key) => `Sweeps and failed payouts count that ${key} sealed.`,
}

/** `paylink signer trust-approval-key` and `trust-outcome-key`: the operator's word, where no file of the API's says the key. */
export async function trustKeyCommand(name: PinName, text: string, output: Output): Promise<number> {
  const key = parsePublicKey(text)
  if (key === null) throw new UsageError('the key must be 64 hexadecimal digits, as paylink doctor shows it')
  const here = signerPlace()
  await openSignerFolder(here)
  const { folder } = here
  const before = await refusable(() => readPin(folder, name))
  await trustKey(folder, name, key)
  output.line(TRUSTED[name](key.toString('hex')))
  if (before !== null) output.line(`Before, the key was ${Buffer.from(before).toString('hex')}.`)
  return 0
}

/** `paylink signer status`: whether seed, database and journals belong together; exit code 1 where they do not. */
export async function signerStatusCommand(
  options: { readonly json: boolean },
  output: Output,
): Promise<number> {
  const here = signerPlace()
  const accounts = await accountsOfSeed(here)
  const marks = await refusable(() => readJournal(here.folder))
  const signed = await countSigned(here.folder)
  const stored = await withOwnerPool(async (pool) => ({
    active: await isSignerActive(pool),
    rows: await listAccountKeys(pool),
    marks: await readIndexMarks(pool),
  }))
  const keyspaces = accounts.map((account) => ({
    keyspace: account.keyspace,
    database: stateOf(account, stored.rows),
    next_index: stored.marks.find(({ keyspace }) => keyspace === account.keyspace)?.nextIndex ?? 0,
    journal: marks.get(account.keyspace)?.nextIndex ?? 0,
  }))
  const isWhole = keyspaces.every(({ database }) => database !== 'another seed')
  const status = { seed: seedFilePath(here.folder), key: here.keySource.description, active: stored.active }
  if (options.json) output.line(JSON.stringify({ ...status, signed_transactions: signed, keyspaces }))
  else {
    output.line(`Seed          ${status.seed}, opened with ${status.key}`)
    output.line(`Running       ${stored.active ? 'yes, a signer is active' : 'no signer is active'}`)
    output.line(`Payouts       ${signed} transactions signed in all`)
    for (const one of keyspaces) {
      const used = `addresses up to ${one.next_index}, journal up to ${one.journal}`
      output.line(`${one.keyspace.padEnd(14)}${one.database}; ${used}`)
    }
    if (!isWhole)
      output.problem('this seed is not the one that the database belongs to: restore the right pair')
  }
  return isWhole ? 0 : EXIT_FAILED
}

/**
 * `paylink signer recover`: brings payouts back that the journal has and a restored database has not; exit code 1
 * where some are left. `accept`: ids of such payouts that the books hold otherwise, or that surely never happened.
 */
export async function recoverPayoutsCommand(
  options: { readonly accept: readonly string[] },
  output: Output,
): Promise<number> {
  const { folder } = signerPlace()
  const journal = await refusable(() => PayoutJournal.open(folder, 'reads'))
  const recovered = await withOwnerPool(async (pool) => {
    const lost = await findLostPayouts({ pool, journal })
    for (const id of options.accept) {
      const network = NETWORKS.find((each) => each === journal.entriesOf(id)[0]?.network)
      if (!lost.includes(id) || network === undefined)
        throw new UsageError(`${id} is no payout that the journal has and the database has not`)
      await acceptLostPayout(pool, { id, network }, systemClock())
    }
    return recoverPayouts({ pool, journal, clock: systemClock })
  })
  for (const { payoutId, network, txid, outcome } of recovered)
    output.line(`${payoutId}  ${network.padEnd(14)}  ${txid}  ${OUTCOMES[outcome]}`)
  const left = recovered.filter(({ outcome }) => outcome !== 'recovered').length
  if (left === 0) {
    output.line('The database knows every payout that was signed.')
    return 0
  }
  output.problem(
    `${left} of ${recovered.length} could not be brought back: nothing is signed on their networks. See docs/backup.md`,
  )
  return EXIT_FAILED
}

const OUTCOMES: { readonly [outcome in Recovered['outcome']]: string } = {
  recovered: 'is in the books again; the watcher finds out what became of it',
  not_covered: 'the balance does not hold it: let the watcher read up to the tip, then try again',
  unknown: 'the journal does not say what it was: see its transaction, then accept it',
  contradicts: 'the database holds what contradicts it: see its transaction, then accept it',
}

function stateOf(account: Account, rows: Awaited<ReturnType<typeof listAccountKeys>>): string {
  const row = rows.find(({ keyspace }) => keyspace === account.keyspace)
  if (row === undefined) return 'not published yet'
  const isSame =
    row.xpub === account.xpub && Buffer.from(row.batchKey ?? []).equals(Buffer.from(account.batchKey ?? []))
  return isSame ? 'same in the database' : 'another seed'
}

async function accountsOfSeed({ folder, keySource }: SignerPlace): Promise<Account[]> {
  const entropy = await refusable(() => openSeed(folder, keySource))
  if (entropy === null) {
    throw new StartRefused(`${folder} has no seed: run paylink signer init, or start the signer once`)
  }
  try {
    return (await openAccountsOf(wordsOf(entropy))).accounts
  } finally {
    entropy.fill(0)
  }
}

async function wordsFromStandardInput(): Promise<Uint8Array> {
  const entropy = entropyOf(await text(process.stdin))
  if (entropy === null) {
    throw new UsageError(
      'standard input must hold the 24 words of the seed: check each of them and their order',
    )
  }
  return entropy
}
