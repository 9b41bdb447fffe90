import { note, select } from '@clack/prompts'
import { loadConfig } from '../../config/config.ts'
import { ConfigError } from '../../config/config-values.ts'
import { ASSET_IDS, ASSETS, type AssetId, CHAINS, type Chain, type Network } from '../../core/assets.ts'
import { ON_BY_DEFAULT } from '../../core/payment-rules.ts'
import { rpcSettingOf } from '../../nodes/chain-nodes.ts'
import { SIGN_UPS } from '../../people/sign-up.ts'
import { emailProblem, nameProblem } from '../merchant-commands.ts'
import { UsageError } from '../usage-error.ts'
import { otherSettings } from './env-file-text.ts'
import { PUBLIC_PROVIDERS, PUBLIC_TRUST, providersProblem } from './providers.ts'
import { promptAnswer, type Question, type Questionnaire } from './questionnaire.ts'

export type Settings = { [name: string]: string }

export type ShopAnswers = {
  readonly name: string
  readonly email: string
  readonly livemode: boolean
  readonly coins: readonly AssetId[]
}

/** Who takes money, whether it is real, and in which coins. */
export async function askShop(questions: Questionnaire): Promise<ShopAnswers> {
  const name = await questions.ask({
    option: 'name',
    message: 'The name of your shop, which buyers see',
    problem: nameProblem,
  })
  const email = await questions.ask({
    option: 'email',
    message: "The owner's email address",
    problem: emailProblem,
  })
  const mode = await questions.ask({
    option: 'mode',
    message: 'Which money?',
    choices: [
      { value: 'test', label: 'Test money', hint: 'on sandbox chains, without a node' },
      { value: 'live', label: 'Real money', hint: 'test mode stays beside it' },
    ],
    fallback: hasLiveNode(questions) ? 'live' : 'test',
  })
  const livemode = mode === 'live'
  const coins = await questions.ask({
    option: 'coins',
    message: 'Which coins does your shop accept?',
    choices: ASSET_IDS.map((id) => ({ value: id, label: `${ASSETS[id].name} on ${ASSETS[id].networkName}` })),
    isList: true,
    ...(livemode ? {} : { fallback: ON_BY_DEFAULT.join(',') }),
  })
  const picked = coins.split(',')
  return { name, email, livemode, coins: ASSET_IDS.filter((id) => picked.includes(id)) }
}

const hasLiveNode = (questions: Questionnaire): boolean =>
  CHAINS.some((chain) => questions.known(nodeQuestion(questions, `${chain}-live`)) !== undefined)

/** Where it runs, and what is outside of it. */
export async function askPlace(questions: Questionnaire, livemode: boolean): Promise<Settings> {
  const port = await questions.ask(setting('PORT', { message: 'Port', fallback: '3000', isQuiet: true }))
  const url = { message: 'The address that buyers open, such as https://pay.example.com' }
  return {
    PORT: port,
    DATA_DIR: await questions.ask(
      setting('DATA_DIR', { message: 'Folder of all data', fallback: './data', isQuiet: true }),
    ),
    DATABASE_URL: await questions.ask(
      setting('DATABASE_URL', { message: 'PostgreSQL', fallback: '', isQuiet: true }),
    ),
    BASE_URL: await questions.ask(
      setting('BASE_URL', livemode ? url : { ...url, fallback: `http://localhost:${port}` }),
    ),
    SIGNER_KEY_FILE: await questions.ask(
      setting('SIGNER_KEY_FILE', {
        message: 'File with the key that seals the seed, on another disk. Enter: beside the seed',
        fallback: '',
        isQuiet: !livemode,
      }),
    ),
  }
}

/** The nodes of the coins' networks, each asked what it is. */
export async function askNodes(
  questions: Questionnaire,
  { livemode, coins }: ShopAnswers,
): Promise<Settings> {
  const settings: Settings = {}
  for (const chain of CHAINS) {
    if (!livemode && questions.given(nodeQuestion(questions, `${chain}-live`)) !== undefined) {
      throw new UsageError(`--mode test, and ${rpcSettingOf(`${chain}-live`)} is given: remove one`)
    }
    const isWanted = livemode && coins.some((coin) => ASSETS[coin].chain === chain)
    const live = isWanted
      ? await liveQuestion(questions, chain)
      : quietly(nodeQuestion(questions, `${chain}-live`))
    settings[rpcSettingOf(`${chain}-live`)] = livemode
      ? urlsOf(`${chain}-live`, await questions.ask(live))
      : ''
    settings[rpcSettingOf(`${chain}-test`)] = await questions.ask(
      quietly(nodeQuestion(questions, `${chain}-test`)),
    )
  }
  return settings
}

const quietly = (question: Question): Question => ({ ...question, fallback: '', isQuiet: true })

function nodeQuestion(questions: Questionnaire, network: Network): Question {
  return {
    option: rpcSettingOf(network).toLowerCase().replaceAll('_', '-'),
    variable: rpcSettingOf(network),
    message: `URL of your own node of ${network}, or of two providers, separated by a comma`,
    isUnseen: true,
    problem: (urls) => problemOfUrls(questions, network, urls),
  }
}

/** As an answer: the two public providers that setup knows of. */
const PUBLIC = 'public'
const urlsOf = (network: Network, answer: string): string => {
  if (answer !== PUBLIC) return answer
  const chain = CHAINS.find((each) => network === `${each}-live`)
  return chain === undefined ? '' : PUBLIC_PROVIDERS[chain]
}

async function problemOfUrls(
  questions: Questionnaire,
  network: Network,
  answer: string,
): Promise<string | null> {
  const urls = urlsOf(network, answer)
  return urls === ''
    ? `no public providers of ${network} are known: name two`
    : await providersProblem(network, urls, otherSettings(questions.before))
}

/** A person chooses first whose servers they are, and reads what that means. */
async function liveQuestion(questions: Questionnaire, chain: Chain): Promise<Question> {
  const question = nodeQuestion(questions, `${chain}-live`)
  if (!questions.isInteractive || questions.given(question) !== undefined) return question
  const whose = await promptAnswer(
    select({
      message: `How does Paylink connect to ${chain}?`,
      options: [
        { value: 'own', label: 'My own node', hint: 'nobody else is trusted' },
        { value: 'public', label: 'Two independent providers', hint: 'no node to run' },
      ],
    }),
  )
  if (whose === 'own') return { ...question, message: `URL of your ${chain} node, with its password` }
  note(PUBLIC_TRUST[chain], `${chain} by two providers`)
  return {
    ...question,
    message: 'Two URLs of different operators, separated by a comma',
    isUnseen: false,
    ...(PUBLIC_PROVIDERS[chain] === '' ? {} : { fallback: PUBLIC_PROVIDERS[chain] }),
    problem: (urls) =>
      urls.includes(',') || urls === PUBLIC
        ? problemOfUrls(questions, `${chain}-live`, urls)
        : 'give two URLs, separated by a comma',
  }
}

/** Mail, sign-up and backups; the key pair of backups is made with the file. */
export async function askServices(
  questions: Questionnaire,
  livemode: boolean,
): Promise<{ readonly settings: Settings; readonly backupKeyFile: string | null }> {
  const settings: Settings = {}
  const ask = async (name: string, question: Omit<Question, 'option'>): Promise<string> => {
    settings[name] = await questions.ask(setting(name, question))
    return settings[name]
  }
  await ask('SMTP_URL', {
    message: 'Mail server, smtps://user:password@host. Enter: emails are written to the log',
    fallback: '',
    isUnseen: true,
  })
  await ask('SIGN_UP', {
    message: 'Who may create an account at the dashboard?',
    choices: SIGN_UPS.map((value) => ({ value, label: SIGN_UP_LABELS[value] })),
    fallback: livemode ? 'closed' : 'open',
  })
  const to = await ask('BACKUP_TO', {
    message: 'Where do backups go? An absolute path or s3://bucket/prefix. Enter: nowhere',
    fallback: '',
    problem: (text) => (/^(?:\/|s3:\/\/)./.test(text) ? null : 'use an absolute path or s3://bucket/prefix'),
  })
  if (to === '') return { settings, backupKeyFile: null }
  if (to.startsWith('s3://')) {
    await ask('BACKUP_S3_REGION', { message: 'Region of the bucket', fallback: 'us-east-1' })
    await ask('BACKUP_S3_ENDPOINT', { message: 'Its endpoint. Enter: that of AWS', fallback: '' })
    await ask('BACKUP_S3_ACCESS_KEY_ID', { message: 'Id of its access key' })
    await ask('BACKUP_S3_SECRET_ACCESS_KEY', { message: 'Secret of its access key', isUnseen: true })
  }
  const keyFile = {
    option: 'backup-key-file',
    message: 'File for a new secret key of backups, to be moved away',
  }
  const recipient = setting('BACKUP_RECIPIENT', {
    message: 'Public key to encrypt backups to. Enter: make a new pair',
    fallback: '',
    isQuiet: questions.given(keyFile) !== undefined,
  })
  settings.BACKUP_RECIPIENT = await questions.ask(recipient)
  if (settings.BACKUP_RECIPIENT !== '') return { settings, backupKeyFile: null }
  return { settings, backupKeyFile: await questions.ask(keyFile) }
}

const SIGN_UP_LABELS = {
  open: 'Anybody',
  invite: 'Those whom a shop invites',
  closed: 'Nobody: you create shops',
} as const

/** A question whose answer is one setting, checked as a start checks it. */
const setting = (name: string, question: Omit<Question, 'option'>): Question => ({
  option: name.toLowerCase().replaceAll('_', '-'),
  variable: name,
  problem: (text) => settingProblem(name, text),
  ...question,
})

function settingProblem(name: string, text: string): string | null {
  try {
    loadConfig({ [name]: text })
    return null
  } catch (error) {
    if (error instanceof ConfigError) return error.message
    throw error
  }
}
