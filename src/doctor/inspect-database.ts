import { createHash } from 'node:crypto'
import type { Config } from '../config/config.ts'
import { listAccountKeys } from '../db/addresses/account-keys.ts'
import { countShopsThatWriteToBuyers } from '../db/checkout/buyer-emails.ts'
import { readBackendPid, readDoctorFacts } from '../db/doctor.ts'
import { countShortfalls, type ShortBalances } from '../db/ledger/ledger.ts'
import { latestMigration } from '../postgres/migrate.ts'
import { readMigrationVersion } from '../postgres/migration-version.ts'
import type { Pool } from '../postgres/pool.ts'
import { StartRefused } from '../runtime/start-refused.ts'
import { inspectKey, keyHint } from '../secrets/open-keyring.ts'
import { type Finding, fault, notice, ok } from './finding.ts'

/** A busy pooler may answer from another connection by chance. */
const SESSION_LOOKS = 5
const CLOCK_SKEW_MS_MAX = 30_000
/** A delivery that is this long overdue has nobody who sends it. */
const OVERDUE_SECONDS_MAX = 60

/** The database, and what it says of the signer, the webhooks and the clock. */
export async function inspectDatabase(config: Config, pool: Pool): Promise<Finding[]> {
  const before = Date.now()
  const facts = await readDoctorFacts(pool)
  const skewMs = Math.round(facts.now.getTime() - (before + Date.now()) / 2)
  const wanted = await latestMigration()
  const version = await readMigrationVersion(pool)
  const where = config.databaseUrl === null ? 'embedded in the data folder' : 'of DATABASE_URL'
  return [
    ok(`Database ${where}: PostgreSQL ${facts.serverVersion}, ${facts.merchants} merchants`),
    version === wanted
      ? ok(`Migrations: up to date (${version})`)
      : fault(`Migrations: the database has ${version} of ${wanted}; run paylink migrate`),
    facts.isDurable
      ? ok('Commits are durable')
      : fault('fsync or full_page_writes is off: a power cut loses payments; turn them on'),
    Math.abs(skewMs) <= CLOCK_SKEW_MS_MAX
      ? ok('The clocks of this machine and the database agree')
      : fault(
          `The clocks differ by ${Math.round(skewMs / 1_000)} s: webhooks stand still, and payouts that were approved with a code wait or expire; run a time service on both`,
        ),
    facts.accountKeys > 0
      ? ok(
          `Signer: ${facts.accountKeys} account keys are published${facts.signerLocked ? ', and it is at work' : ''}; seed ${seedMarkOf(await listAccountKeys(pool))}`,
        )
      : fault(
          'Signer: it has published no keys, so that no address can be given out; start it, and read its log',
        ),
    await sessionFinding(pool),
    await keyFinding(config, pool),
    deliveriesFinding(facts),
    ...ledgerFindings(await countShortfalls(pool)),
    ...(config.smtpUrl === null ? buyerEmailFindings(await countShopsThatWriteToBuyers(pool)) : []),
    facts.awaiting === 0
      ? ok('Webhooks: no event awaits an endpoint')
      : notice(
          `Webhooks: ${facts.awaiting} events reached no endpoint; queue or recover them when one is verified`,
        ),
  ]
}

/** The same of two databases only where one seed is behind both: 64 bits of the digest of its first public key. */
const seedMarkOf = (keys: readonly { readonly xpub: string | null }[]): string =>
  createHash('sha256')
    .update(keys.find(({ xpub }) => xpub !== null)?.xpub ?? '')
    .digest('hex')
    .slice(0, 16)

/**
 * Two connections that are held at the same time have a server process each; a pooler that gives out its own by the
 * transaction, or by the statement, answers both from one.
 */
async function sessionFinding(pool: Pool): Promise<Finding> {
  const first = await pool.connect()
  try {
    const second = await pool.connect()
    try {
      for (let look = 0; look < SESSION_LOOKS; look++) {
        if ((await readBackendPid(first)) !== (await readBackendPid(second))) continue
        return fault(
          'A pooler gives out connections by the transaction: locks and notifications are lost on it; set it to session mode, or connect to PostgreSQL itself',
        )
      }
    } finally {
      second.release()
    }
  } finally {
    first.release()
  }
  return ok('Each connection is a session of its own')
}

async function keyFinding(config: Config, pool: Pool): Promise<Finding> {
  try {
    const state = await inspectKey(config, pool)
    if (state === 'right') return ok('The key that seals secrets is the right one')
    if (state === 'unused') return notice('The key that seals secrets was never used: the first start does')
    return fault(keyHint(config, state))
  } catch (error) {
    if (!(error instanceof StartRefused)) throw error
    return fault(error.message)
  }
}

function buyerEmailFindings(shops: number): Finding[] {
  if (shops === 0) return []
  return [
    fault(
      `Email: off, and ${shops} merchants have their buyers emailed: none of these emails is sent; set SMTP_URL`,
    ),
  ]
}

/** Test mode's chains are taken back on purpose. */
function ledgerFindings({ merchants, fees }: ShortBalances): Finding[] {
  const inTest = (count: number): string => (count === 0 ? '' : ` (${count} balances of test mode)`)
  return [
    merchants.live === 0
      ? ok(`Ledger: nothing is missing${inTest(merchants.test)}`)
      : fault(
          `Ledger: in ${merchants.live} live balances money is missing that was paid out before the chain took it back: talk to these merchants; what they receive next makes up for it`,
        ),
    fees.live === 0
      ? ok(`Service fees: none is owed${inTest(fees.test)}`)
      : fault(
          `Service fees: in ${fees.live} live balances you have taken fees of payments that the chain took back: the next fees make up for it, and until then these merchants cannot pay out everything; see paylink fees status`,
        ),
  ]
}

function deliveriesFinding(facts: { waiting: number; overdueSeconds: number }): Finding {
  if (facts.overdueSeconds > OVERDUE_SECONDS_MAX) {
    return fault(
      `Webhooks: ${facts.waiting} deliveries wait, the oldest due ${Math.round(facts.overdueSeconds)} s ago: nobody sends, or the endpoint does not answer; start the delivery role`,
    )
  }
  return ok(`Webhooks: ${facts.waiting} deliveries wait, none overdue`)
}
