import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { confirm, intro } from '@clack/prompts'
import { childEnvironment } from '../../config/child-environment.ts'
import {
  type Config,
  envFilePath,
  givenSettings,
  loadProcessConfig,
  loadSettings,
  NO_ENV_FILE,
  privateChainSettings,
} from '../../config/config.ts'
import type { Environment } from '../../config/config-values.ts'
import { readEnvFile } from '../../config/env-file.ts'
import { ON_BY_DEFAULT } from '../../core/payment-rules.ts'
import { findMerchant } from '../../db/people/merchants.ts'
import { changePaymentRules } from '../../flows/change-payment-rules.ts'
import { systemClock } from '../../runtime/clock.ts'
import { writeSecretFile } from '../../runtime/data-dir.ts'
import { StartRefused } from '../../runtime/start-refused.ts'
import { urlHost } from '../../runtime/url-host.ts'
import { backupCommand, createBackupKey, keepBackupKey } from '../backup-commands.ts'
import { type Output, withOwnerPool } from '../command-context.ts'
import { doctorCommand } from '../doctor.ts'
import { EXIT_FAILED } from '../exit-codes.ts'
import { createShop, renewPasswordUrl } from '../merchant-commands.ts'
import { checkSignerKey, signerPlace, storeSeed } from '../signer-place.ts'
import { UsageError } from '../usage-error.ts'
import { askSeed, type SeedAnswer } from './ask-seed.ts'
import { askNodes, askPlace, askServices, askShop, type Settings, type ShopAnswers } from './ask-settings.ts'
import { envFileText, otherSettings } from './env-file-text.ts'
import { type GivenOptions, promptAnswer, Questionnaire } from './questionnaire.ts'
import { followTestPayment } from './test-payment.ts'

/**
 * `paylink setup`: asks what a start needs, writes it to one env file, creates the shop, runs doctor, and follows a first
 * payment to `paid`. Until the last answer nothing is written. Exit code 1 where doctor finds a fault, or nobody paid.
 */
export async function setupCommand(options: GivenOptions, output: Output): Promise<number> {
  const isInteractive = options.yes !== true && process.stdin.isTTY && process.stdout.isTTY
  const path = envFilePath()
  if (isInteractive) intro('Set up Paylink. Ctrl-C ends it, and nothing is written before the last answer.')
  const before = {
    ...(await readBefore(path, options.force === true, isInteractive)),
    ...privateChainSettings(),
  }
  const questions = new Questionnaire({ isInteractive, given: options, before })
  const answers = await askAll(questions, options.testPayment !== false)
  const { settings, shop, seed, backupKeyFile } = answers
  if (isInteractive && !(await promptAnswer(confirm({ message: `Write ${path}?` }))))
    throw new StartRefused('cancelled: nothing was written')
  if (backupKeyFile !== null) settings.BACKUP_RECIPIENT = await createBackupKey(backupKeyFile)
  const text = envFileText(settings, systemClock().toISOString().slice(0, 10))
  const place = signerPlace(loadSettings(settings))
  if (seed.kind === 'store') await storeSeed(place, seed.entropy)
  await writeSecretFile(path, text)
  output.line(`Settings are in ${path}.`)
  if (backupKeyFile !== null) output.line(keepBackupKey(backupKeyFile))
  output.line(SEED_LINES[seed.kind](place.folder, place.keySource.description))
  return await goOn(loadProcessConfig(), shop, options.testPayment !== false, output)
}

const SEED_LINES: { readonly [kind in SeedAnswer['kind']]: (folder: string, key: string) => string } = {
  store: (folder, key) => `The seed is in ${folder}; the key that opens it is ${key}.`,
  kept: (folder) => `The seed in ${folder} is kept.`,
  later: (folder) => `The first start makes the seed in ${folder}. Nobody has its words: see docs/keys.md.`,
}

/** The settings of a file that is about to be replaced. */
async function readBefore(path: string, isForced: boolean, isInteractive: boolean): Promise<Environment> {
  if (!existsSync(path)) return {}
  if (isForced) return readEnvFile(path)
  if (!isInteractive) throw new UsageError(`${path} is there already: add --force to replace it`)
  const message = `${path} is there already. Replace it? Its settings are the first answers.`
  if (await promptAnswer(confirm({ message, initialValue: false }))) return readEnvFile(path)
  throw new StartRefused(`${path} stays as it is: nothing was written`)
}

type Answers = {
  readonly settings: Settings
  readonly shop: ShopAnswers
  readonly seed: SeedAnswer
  readonly backupKeyFile: string | null
}

async function askAll(questions: Questionnaire, hasTestPayment: boolean): Promise<Answers> {
  const shop = await askShop(questions)
  const place = { ...otherSettings(questions.before), ...(await askPlace(questions, shop.livemode)) }
  place.DATA_DIR = resolve(place.DATA_DIR ?? '')
  if (place.SIGNER_KEY_FILE !== undefined && place.SIGNER_KEY_FILE !== '')
    place.SIGNER_KEY_FILE = resolve(place.SIGNER_KEY_FILE)
  const config = loadSettings(place)
  if (hasTestPayment && (await isServiceUp(config))) {
    throw new StartRefused(
      `port ${config.port} is in use: stop Paylink while you set it up, choose another --port, or add --no-test-payment`,
    )
  }
  await checkSignerKey(signerPlace(config))
  const nodes = await askNodes(questions, shop)
  const seed = await askSeed(questions, signerPlace(config), shop.livemode)
  const { settings: services, backupKeyFile } = await askServices(questions, shop.livemode)
  const settings = { ...place, ...nodes, ...services }
  // A key pair that is made at the end has no public key yet.
  loadSettings(backupKeyFile === null ? settings : { ...settings, BACKUP_TO: '' })
  return { settings, shop, seed, backupKeyFile }
}

/** Everything that needs the file. */
async function goOn(
  config: Config,
  shop: ShopAnswers,
  hasTestPayment: boolean,
  output: Output,
): Promise<number> {
  // A signer that never ran has published no keys, and doctor would call that a fault.
  const isUp = await isServiceUp(config)
  if (!isUp) output.line('· starting Paylink')
  const service = isUp ? null : await startOwnService()
  try {
    const merchantId = await findOrCreateShop(shop, output)
    // The first one shows that the target takes backups, and doctor wants to see it.
    if (config.backup !== null) await backupCommand(output)
    const doctorCode = await doctorCommand(output)
    const isPaid =
      !hasTestPayment || (await followTestPayment(config, { merchantId, livemode: shop.livemode }, output))
    return isPaid ? doctorCode : EXIT_FAILED
  } finally {
    await service?.stop()
    if (!isUp) output.line('Paylink is stopped again. Start it with npm start, or paylink start.')
  }
}

/** The shop of an earlier run is found again by its name and its owner's address. */
const findOrCreateShop = (shop: ShopAnswers, output: Output): Promise<string> =>
  withOwnerPool(async (pool, config) => {
    const { name, email, livemode, coins } = shop
    const known = await findMerchant(pool, { name, email })
    const { id: merchantId, setPasswordUrl: url } =
      known === null
        ? await createShop(pool, config, { name, email })
        : { id: known, setPasswordUrl: await renewPasswordUrl(pool, config, email) }
    const isUsual = coins.join() === ON_BY_DEFAULT.join()
    const accepted = isUsual ? null : coins
    const changes = { accepted_assets: accepted, default_asset: null }
    await changePaymentRules({ pool, clock: systemClock }, { tenant: { merchantId, livemode }, changes })
    output.line(`Shop ${name} is ${merchantId}.`)
    if (url !== null)
      output.line(`Its owner ${email} chooses a password here, once, within seven days: ${url}`)
    return merchantId
  })

const PROGRAM = fileURLToPath(new URL('../../main.js', import.meta.url))
const START_MS_MAX = 120_000
const STOP_MS_MAX = 45_000
const ASK_MS_MAX = 2_000
/** What is kept of what it prints: only its last line matters, and only where it does not start. */
const PRINTED_LENGTH_MAX = 4_096

/** Whether anything answers where the service would. */
async function isServiceUp({ host, port }: Pick<Config, 'host' | 'port'>): Promise<boolean> {
  try {
    await fetch(`http://${urlHost(host)}:${port}/healthz`, { signal: AbortSignal.timeout(ASK_MS_MAX) })
    return true
  } catch {
    // Nothing listens, which is what is asked.
    return false
  }
}

/** All roles in a process of their own, which ends with this one at the latest. Throws `StartRefused` where it cannot start. */
async function startOwnService(): Promise<{ stop(): Promise<void> }> {
  const child = spawn(process.execPath, [PROGRAM, 'start', '--until-stdin-ends'], {
    // A session of its own: Ctrl-C in a terminal reaches us alone.
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
    env: childEnvironment({ ...NO_ENV_FILE, ...givenSettings() }),
  })
  // Writing to a process that has just died is no fault of ours.
  child.stdin.on('error', () => {})
  let printed = ''
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
  const begun = new Promise<boolean>((resolve) => {
    const read = (text: string) => {
      printed = (printed + text).slice(-PRINTED_LENGTH_MAX)
      if (printed.includes('paylink runs') || printed.includes('Stop with Ctrl-C')) resolve(true)
    }
    child.stdout.setEncoding('utf8').on('data', read)
    child.stderr.setEncoding('utf8').on('data', read)
    void ended.then(() => resolve(false))
  })
  const timer = setTimeout(() => child.kill('SIGKILL'), START_MS_MAX)
  const isUp = await begun
  clearTimeout(timer)
  if (!isUp) throw new StartRefused(`Paylink did not start: ${printed.trim().split('\n').at(-1) ?? ''}`)
  return {
    stop: async () => {
      const kill = setTimeout(() => child.kill('SIGKILL'), STOP_MS_MAX)
      child.stdin.end()
      await ended
      clearTimeout(kill)
    },
  }
}
