import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { z } from 'zod'
import { CHAINS } from '../core/assets.ts'
import { CELL_MAX } from '../core/cells.ts'
import { EVM_CHAINS } from '../core/chain/evm-networks.ts'
import type { TokenContracts } from '../core/chain/evm-parameters.ts'
import type { OnrampConfig } from '../onramp/open-onramps.ts'
import { SIGN_UPS, type SignUp } from '../people/sign-up.ts'
import type { DatabaseRole } from '../postgres/roles.ts'
import { EXCHANGE_NAMES, type ExchangeName } from '../rates/exchanges.ts'
import { setOwnCell } from '../runtime/own-cell.ts'
import {
  BACKUP_VARIABLES,
  type BackupConfig,
  type BackupTarget,
  readBackup,
  readTarget,
} from './config-backup.ts'
import { DIRECTORY_VARIABLES, type DirectoryConfig, readDirectory } from './config-directory.ts'
import { NETWORK_VARIABLE, type NetworksConfig, readNetworks } from './config-networks.ts'
import { ONRAMP_VARIABLES, readOnramps } from './config-onramps.ts'
import { READER_VARIABLES, type ReaderConfig, readReader } from './config-reader.ts'
import { readTokenContracts } from './config-staging.ts'
import {
  ConfigError,
  deliveryKey,
  type Environment,
  flag,
  httpUrl,
  listenAddress,
  must,
  origin,
  postgresUrl,
  readerOf,
  secretKey,
  urlOf,
  watcherKey,
  wholeNumber,
} from './config-values.ts'
import { readEnvFile } from './env-file.ts'

/** The configuration. Read once, at start, from the environment; nothing else reads `process.env`. */
export type Config = {
  /** The owner's connection string, for migrations; null: the embedded server in `dataDir`. */
  readonly databaseUrl: string | null
  /** A role's own connection string; null: the program makes the role itself. */
  readonly roleDatabaseUrls: { readonly [role in DatabaseRole]: string | null }
  /** A standby of the database, which answers lists and statistics of the API; null: the primary does. */
  readonly standbyDatabaseUrl: string | null
  /** Null: each cell is by itself. */
  readonly directory: DirectoryConfig | null
  /** Absolute path of the folder that holds everything this program keeps outside the database. */
  readonly dataDir: string
  readonly host: string
  readonly port: number
  /**
   * Where metrics are served; null: nowhere. When the port was not given, only the process that serves the API serves
   * them.
   */
  readonly operatorPort: { readonly port: number; readonly isGiven: boolean } | null
  /** Address that metrics are served on, whatever `host` is. */
  readonly operatorHost: string
  /** Origin of every URL we give out, without a trailing slash. */
  readonly baseUrl: string
  readonly logLevel: LogLevel
  /** 32 bytes that encrypt secrets at rest; null: generated once and kept in `dataDir`. */
  readonly secretKey: Uint8Array | null
  /** What delivery workers open signing secrets with in place of the secret key; null: that key itself. */
  readonly deliveryKey: Uint8Array | null
  /** What a watcher without the secret key seals outcomes with. */
  readonly watcherKey: Uint8Array | null
  readonly networks: NetworksConfig
  /** Which of several installations behind one address this is; 0 where it is the only one. */
  readonly cell: number
  /** Live mode with all its rules, on private chains: `STAGING`. */
  readonly staging: boolean
  /** By chain: contracts that somebody puts on its sandbox chain, in the place of our test tokens. */
  readonly testTokenContracts: { readonly [chain: string]: TokenContracts }
  readonly priceSources: readonly ExchangeName[]
  readonly priceUrls: { readonly [source in ExchangeName]: string | null }
  readonly currencyUrls: { readonly [source in 'coinbase' | 'ecb']: string | null }
  readonly webhookAllowPrivate: boolean
  /** Which compatibility APIs are served; none unless named. */
  readonly compatApis: readonly CompatApiName[]
  /** HTTP clients may pay invoices in USDC by x402; the hot wallet pays the gas. */
  readonly x402: boolean
  /** Requests a second per merchant. */
  readonly rateLimits: { readonly live: number; readonly test: number }
  /** Who may make an account at the dashboard. */
  readonly signUp: SignUp
  /** Unpaid invoices that a merchant may have open in one mode. */
  readonly openInvoicesMax: number
  /** Customers of a merchant that may have permanent addresses in one mode. */
  readonly depositAddressesMax: number
  /** File with the 32 bytes that encrypt the signer's seed; null: generated once and kept in `dataDir`. */
  readonly signerKeyFile: string | null
  /**
   * File with the public keys that verify the addresses the signer issued. The signer writes it; the API and the
   * checkout read it.
   */
  readonly addressKeysFile: string
  /** The public key by which the signer knows the API's approvals: the API writes it, the signer reads it. */
  readonly approvalKeyFile: string
  /** The operator's fee on every payment that becomes available to a merchant, in basis points. */
  readonly serviceFeeBps: number
  /** The card providers of live mode. */
  readonly onramps: OnrampConfig
  /** `smtp://user:password@host:port`; null: emails are written to the log. */
  readonly smtpUrl: string | null
  /**
   * Host of the process with the role `sandbox`, which serves the sandbox chains to all others; null: the processes
   * of this machine serve them among themselves.
   */
  readonly sandboxHost: string | null
  readonly reader: ReaderConfig
  /** Null where none is configured. */
  readonly backup: BackupConfig | null
  /** No live network is configured: a demo shop is seeded, and metrics are on. */
  readonly sandbox: boolean
}

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

/** Services whose APIs we can imitate: docs/coming-from-elsewhere.md. */
const COMPAT_API_NAMES = ['btcpay', 'coinbase_commerce'] as const
export type CompatApiName = (typeof COMPAT_API_NAMES)[number]

const PORT_MAX = 65_535
const RATE_LIMIT_MAX = 100_000
const OPEN_INVOICES_LIMIT = 1_000_000
const DEPOSIT_ADDRESSES_LIMIT = 2_000_000
/** A tenth of each payment: more is surely a typing error. */
const SERVICE_FEE_BPS_MAX = 1_000

const port = wholeNumber(1, PORT_MAX)
const rateLimit = wholeNumber(1, RATE_LIMIT_MAX)
const openInvoices = wholeNumber(1, OPEN_INVOICES_LIMIT)
const depositAddresses = wholeNumber(1, DEPOSIT_ADDRESSES_LIMIT)
const basisPoints = wholeNumber(0, SERVICE_FEE_BPS_MAX)
/** A comma-separated list of names, each at most once. */
const namesOf = <Name extends string>(names: readonly [Name, ...Name[]]) =>
  z
    .string()
    .transform((text) => text.split(',').map((part) => part.trim()))
    .pipe(z.array(z.enum(names)).refine((given) => new Set(given).size === given.length))
const priceSources = namesOf(EXCHANGE_NAMES)
const compatApis = namesOf(COMPAT_API_NAMES)

const VARIABLES = {
  DATABASE_URL: must(
    'a PostgreSQL URL such as postgresql://host:5432/paylink, with user:password@ before the host',
    postgresUrl,
  ),
  API_DATABASE_URL: must('a PostgreSQL URL', postgresUrl),
  WATCHER_DATABASE_URL: must('a PostgreSQL URL', postgresUrl),
  DELIVERY_DATABASE_URL: must('a PostgreSQL URL', postgresUrl),
  SIGNER_DATABASE_URL: must('a PostgreSQL URL', postgresUrl),
  STANDBY_DATABASE_URL: must('a PostgreSQL URL', postgresUrl),
  DATA_DIR: must('the path of a folder', z.string()),
  HOST: listenAddress,
  PORT: must('a port from 1 to 65535', port),
  OPERATOR_PORT: must('a port from 1 to 65535', port),
  OPERATOR_HOST: listenAddress,
  BASE_URL: must('an origin such as https://pay.example.com, without a path', origin),
  LOG_LEVEL: must(`one of ${LOG_LEVELS.join(', ')}`, z.enum(LOG_LEVELS)),
  SECRET_KEY: must('32 bytes, as 64 hexadecimal digits or as base64 (openssl rand -hex 32)', secretKey),
  DELIVERY_KEY: must('what paylink delivery-key prints', deliveryKey),
  WATCHER_KEY: must('what paylink watcher-key prints', watcherKey),
  CELL: must(`a whole number from 0 to ${CELL_MAX}`, wholeNumber(0, CELL_MAX)),
  STAGING: flag,
  PRICE_SOURCES: must(`a comma-separated list of ${EXCHANGE_NAMES.join(', ')}, each once`, priceSources),
  PRICE_COINBASE_URL: must('an http or https URL', httpUrl),
  PRICE_KRAKEN_URL: must('an http or https URL', httpUrl),
  PRICE_BITSTAMP_URL: must('an http or https URL', httpUrl),
  CURRENCY_COINBASE_URL: must('an http or https URL', httpUrl),
  CURRENCY_ECB_URL: must('an http or https URL', httpUrl),
  WEBHOOK_ALLOW_PRIVATE: flag,
  X402: flag,
  COMPAT_APIS: must(`a comma-separated list of ${COMPAT_API_NAMES.join(', ')}, each once`, compatApis),
  RATE_LIMIT_LIVE: must(`a whole number of requests a second, from 1 to ${RATE_LIMIT_MAX}`, rateLimit),
  RATE_LIMIT_TEST: must(`a whole number of requests a second, from 1 to ${RATE_LIMIT_MAX}`, rateLimit),
  SIGN_UP: must(`one of ${SIGN_UPS.join(', ')}`, z.enum(SIGN_UPS)),
  OPEN_INVOICES_MAX: must(`a whole number from 1 to ${OPEN_INVOICES_LIMIT}`, openInvoices),
  DEPOSIT_ADDRESSES_MAX: must(`a whole number from 1 to ${DEPOSIT_ADDRESSES_LIMIT}`, depositAddresses),
  SIGNER_KEY_FILE: must('the path of a file', z.string()),
  ADDRESS_KEYS_FILE: must('the path of a file', z.string()),
  APPROVAL_KEY_FILE: must('the path of a file', z.string()),
  SANDBOX_HOST: must('a host name such as sandbox', z.string().regex(/^[0-9A-Za-z.-]{1,253}$/)),
  SERVICE_FEE_BPS: must(`basis points, a whole number from 0 to ${SERVICE_FEE_BPS_MAX}`, basisPoints),
  SMTP_URL: must(
    'a URL such as smtps://mail.example.com, with user:password@ before the host where it asks for them',
    urlOf('smtp:', 'smtps:'),
  ),
}
const read = readerOf(VARIABLES)

/** Reads the configuration from an environment. Throws `ConfigError` on the first wrong value. */
export function loadConfig(env: Environment): Config {
  const port = read(env, 'PORT') ?? 3_000
  const dataDir = resolve(read(env, 'DATA_DIR') ?? './data')
  const staging = read(env, 'STAGING') ?? false
  const networks = readNetworks(env, staging)
  const sandbox = !CHAINS.some((chain) => networks[`${chain}-live`] !== undefined)
  const operatorPort = readOperatorPort(env, port, sandbox)
  return {
    databaseUrl: read(env, 'DATABASE_URL') ?? null,
    roleDatabaseUrls: readRoleUrls(env),
    standbyDatabaseUrl: read(env, 'STANDBY_DATABASE_URL') ?? null,
    directory: readDirectory(env),
    dataDir,
    host: read(env, 'HOST') ?? '127.0.0.1',
    port,
    operatorPort,
    operatorHost: read(env, 'OPERATOR_HOST') ?? '127.0.0.1',
    baseUrl: read(env, 'BASE_URL') ?? `http://localhost:${port}`,
    // The sandbox runs in a terminal, where routine log lines would only get in the way.
    logLevel: read(env, 'LOG_LEVEL') ?? (sandbox ? 'warn' : 'info'),
    secretKey: read(env, 'SECRET_KEY') ?? null,
    deliveryKey: read(env, 'DELIVERY_KEY') ?? null,
    watcherKey: read(env, 'WATCHER_KEY') ?? null,
    networks,
    cell: read(env, 'CELL') ?? 0,
    staging,
    testTokenContracts: Object.fromEntries(
      [...EVM_CHAINS, 'solana' as const].map((chain) => [
        chain,
        readTokenContracts(env, { chain, mode: 'test', staging }),
      ]),
    ),
    priceSources: read(env, 'PRICE_SOURCES') ?? EXCHANGE_NAMES,
    priceUrls: {
      coinbase: read(env, 'PRICE_COINBASE_URL') ?? null,
      kraken: read(env, 'PRICE_KRAKEN_URL') ?? null,
      bitstamp: read(env, 'PRICE_BITSTAMP_URL') ?? null,
    },
    currencyUrls: {
      coinbase: read(env, 'CURRENCY_COINBASE_URL') ?? null,
      ecb: read(env, 'CURRENCY_ECB_URL') ?? null,
    },
    webhookAllowPrivate: read(env, 'WEBHOOK_ALLOW_PRIVATE') ?? false,
    compatApis: read(env, 'COMPAT_APIS') ?? [],
    x402: read(env, 'X402') ?? false,
    rateLimits: { live: read(env, 'RATE_LIMIT_LIVE') ?? 100, test: read(env, 'RATE_LIMIT_TEST') ?? 100 },
    signUp: read(env, 'SIGN_UP') ?? (sandbox ? 'open' : 'closed'),
    openInvoicesMax: read(env, 'OPEN_INVOICES_MAX') ?? 20_000,
    depositAddressesMax: read(env, 'DEPOSIT_ADDRESSES_MAX') ?? 100_000,
    signerKeyFile: readPath(env, 'SIGNER_KEY_FILE'),
    addressKeysFile: readPath(env, 'ADDRESS_KEYS_FILE') ?? join(dataDir, 'address-keys.json'),
    approvalKeyFile: readPath(env, 'APPROVAL_KEY_FILE') ?? join(dataDir, 'approval-key'),
    serviceFeeBps: read(env, 'SERVICE_FEE_BPS') ?? 0,
    onramps: readOnramps(env, staging),
    smtpUrl: read(env, 'SMTP_URL') ?? null,
    sandboxHost: read(env, 'SANDBOX_HOST') ?? null,
    reader: readReader(env),
    backup: readBackup(env),
    sandbox,
  }
}

/** What the folder that a process is started in may hold; variables of the environment come before its own. */
const ENV_FILE = 'paylink.env'

/** Where this process looks for its env file. */
export const envFilePath = (): string => resolve(process.env.PAYLINK_ENV_FILE || ENV_FILE)

/** What a child gets that has all its settings from us: it reads no env file of the folder that it is started in. */
export const NO_ENV_FILE = { PAYLINK_ENV_FILE: '' } as const

/** A setting of the environment itself, which comes before the env file. */
export function environmentSetting(name: string): string | undefined {
  const value = process.env[name]
  return value === '' ? undefined : value
}

/** Settings of the environment that name private chains: with them setup looks at nodes, and every later start does. */
const PRIVATE_CHAINS = /^(?:STAGING|(?:LIVE|TEST)_[A-Z]+_(?:GENESIS|CHAIN_ID|[A-Z]+_ADDRESS))$/
export const privateChainSettings = (): Environment =>
  Object.fromEntries(
    Object.entries(process.env).filter(([name, value]) => PRIVATE_CHAINS.test(name) && value !== ''),
  )

/** Checks settings as the next start will read them from an env file. Throws `ConfigError`. */
export const loadSettings = (settings: Environment): Config => loadConfig({ ...settings, ...process.env })

/** Variables of this process, with those of `paylink.env`, which `paylink setup` writes. */
function processEnvironment(): Environment {
  const path = envFilePath()
  const given = process.env.PAYLINK_ENV_FILE
  if (given === '' || (given === undefined && !existsSync(path))) return process.env
  return { ...readEnvFile(path), ...process.env }
}

/** The configuration of this process; `under` are settings that its own environment comes before. */
export function loadProcessConfig(under: Environment = {}): Config {
  const env = { ...under, ...processEnvironment() }
  const config = loadConfig(env)
  setOwnCell(config.cell, (env.CELL ?? '') !== '' || config.directory !== null)
  return config
}

/** The configuration of another installation, by its env file alone. Throws `ConfigError`. */
export const loadOtherConfig = (envFile: string): Config => loadConfig(readEnvFile(envFile))

const isOurs = (name: string): boolean =>
  name in VARIABLES ||
  NETWORK_VARIABLE.test(name) ||
  BACKUP_VARIABLES.includes(name) ||
  DIRECTORY_VARIABLES.includes(name) ||
  ONRAMP_VARIABLES.includes(name) ||
  READER_VARIABLES.includes(name)

/** Every setting that this process was given, as text: what a backup keeps. */
export const givenSettings = (): { readonly [name: string]: string } =>
  Object.fromEntries(
    Object.entries(processEnvironment()).flatMap(([name, value]) =>
      value === undefined || value === '' || !isOurs(name) ? [] : [[name, value]],
    ),
  )

/** Where the backup that a command names is. Throws `ConfigError`. */
export const processTarget = (to: string): BackupTarget => readTarget(processEnvironment(), to)

function readOperatorPort(env: Environment, port: number, sandbox: boolean): Config['operatorPort'] {
  const given = read(env, 'OPERATOR_PORT')
  if (given === port) throw new ConfigError('OPERATOR_PORT must differ from PORT: choose another one')
  if (given !== undefined) return { port: given, isGiven: true }
  return sandbox && port < PORT_MAX ? { port: port + 1, isGiven: false } : null
}

function readPath(
  env: Environment,
  name: 'SIGNER_KEY_FILE' | 'ADDRESS_KEYS_FILE' | 'APPROVAL_KEY_FILE',
): string | null {
  const path = read(env, name)
  return path === undefined ? null : resolve(path)
}

function readRoleUrls(env: Environment): Config['roleDatabaseUrls'] {
  return {
    api: read(env, 'API_DATABASE_URL') ?? null,
    watcher: read(env, 'WATCHER_DATABASE_URL') ?? null,
    delivery: read(env, 'DELIVERY_DATABASE_URL') ?? null,
    signer: read(env, 'SIGNER_DATABASE_URL') ?? null,
  }
}
