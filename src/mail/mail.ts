import { createTransport } from 'nodemailer'
import { STAGING_NOTICE } from '../core/staging.ts'
import { describeError, type Log } from '../runtime/log.ts'

export type Email = {
  readonly to: string
  readonly subject: string
  readonly text: string
  /** Where one press ends emails of its kind (RFC 8058). */
  readonly unsubscribeUrl?: string
}

/** Of an email that may wait for a mail server longer than it is worth sending. */
type EmailHooks = {
  /** Asked before each attempt. One that throws is an attempt that failed. */
  isStillDue(): Promise<boolean>
  /** It was not sent, and will not be. */
  onNotSent(reason: 'not_due' | 'given_up'): Promise<void>
}

/** Who our emails come from. */
export const mailFrom = (baseUrl: string): string => `Paylink <no-reply@${new URL(baseUrl).hostname}>`

/**
 * Sends emails. `send` never throws and never makes its caller wait for a mail server. Those of one sender, which is
 * the addressee unless named, wait behind one another, and never long before those of others.
 */
export type Mail = {
  send(message: Email, sender?: string, hooks?: EmailHooks): Promise<void>
  /** Whether so many more would be taken now, each of its addressee's own, or all of one sender. Absent: any number. */
  hasRoom?(emails: number, sender?: string): boolean
}

type OpenMail = Mail & {
  /** Resolves when every email under way was sent, or given up. */
  close(): Promise<void>
}

const TIMEOUT_MS = 10_000
/** A server that was given up, and does not hang up itself, is hung up on. */
const HANG_UP_MS = 500
/** Emails under way at once; more wait. */
const UNDER_WAY_MAX = 50
/** Emails that wait for their turn; more are refused with a line in the log. Those to be sent again count as well. */
const WAITING_MAX = { perKey: 500, all: 5_000 }
/** Of these, kept for what is no shop's, such as a warning to a manager. */
const OF_NO_SHOP = 1_000
/** Waits before an email that a server did not take for now is sent again; after the last it is given up. */
const RETRY_AFTER_MS = [5_000, 60_000, 600_000]
/** SMTP replies from here on are final (RFC 5321 §4.2.1). */
const REPLY_FINAL_MIN = 500
const LINE_BREAK = /[\r\n]+/g

/**
 * Mail over SMTP, or, where no server is configured, written to the log for whoever runs this server to read.
 */
export function openMail(options: {
  smtpUrl: string | null
  from: string
  log: Log
  /** Every email says that it is about no live money. */
  staging?: boolean
}): OpenMail {
  const mail = openUnmarkedMail(options)
  if (options.staging !== true) return mail
  const marked = (message: Email): Email => ({
    ...message,
    subject: `[Staging] ${message.subject}`,
    text: `${STAGING_NOTICE}\n\n${message.text}`,
  })
  return { ...mail, send: (message, sender, hooks) => mail.send(marked(message), sender, hooks) }
}

function openUnmarkedMail(options: { smtpUrl: string | null; from: string; log: Log }): OpenMail {
  const { smtpUrl, from, log } = options
  if (smtpUrl === null) {
    return {
      send: async (message) => log.warn({ mail: message }, 'no SMTP_URL is set: this email was not sent'),
      close: async () => {},
    }
  }
  const transport = smtpTransport(smtpUrl)
  const queue = new FairQueue<Waiting>(WAITING_MAX)
  const underWay = new Set<Promise<void>>()
  const retries = new Map<NodeJS.Timeout, Waiting>()
  const { tell, allTold } = createTeller(log)
  let isClosing = false

  const giveUp = (waiting: Waiting, reason: string): void => {
    log.error({ to: waiting.message.to, reason }, 'an email could not be sent')
    tell(waiting, 'given_up')
  }
  const add = (waiting: Waiting): void => {
    const kept = waiting.sender === waiting.message.to ? 0 : OF_NO_SHOP
    if (isClosing) giveUp(waiting, 'the service stops')
    else if (room() <= kept || !queue.add(waiting.sender, waiting)) giveUp(waiting, 'too many wait')
    sendNext()
  }
  const room = (): number => WAITING_MAX.all - queue.size - retries.size
  const sendNext = (): void => {
    while (underWay.size < UNDER_WAY_MAX) {
      const next = queue.take()
      if (next === undefined) return
      const delivery = deliver(next).finally(() => {
        underWay.delete(delivery)
        sendNext()
      })
      underWay.add(delivery)
    }
  }
  const deliver = async (waiting: Waiting): Promise<void> => {
    const { message, attempts, hooks } = waiting
    try {
      if (hooks !== undefined && !(await hooks.isStillDue())) return tell(waiting, 'not_due')
      await transport.sendMail({ from, ...written(message) })
    } catch (error) {
      const retryMs = isClosing || isFinal(error) ? undefined : RETRY_AFTER_MS[attempts]
      if (retryMs === undefined) giveUp(waiting, describeError(error))
      // Those of one sender that no server takes would use up the room of all.
      else if (retriesOf(waiting.sender) >= WAITING_MAX.perKey) giveUp(waiting, 'too many wait')
      else retryLater({ ...waiting, attempts: attempts + 1 }, retryMs)
    }
  }
  const roomOf = (sender: string): number => WAITING_MAX.perKey - queue.sizeOf(sender) - retriesOf(sender)
  const retriesOf = (sender: string): number =>
    [...retries.values()].filter((waiting) => waiting.sender === sender).length
  const retryLater = (waiting: Waiting, ms: number): void => {
    const timer = setTimeout(() => {
      retries.delete(timer)
      add(waiting)
    }, ms)
    timer.unref()
    retries.set(timer, waiting)
  }
  const giveUpWaiting = (): void => {
    for (const [timer, waiting] of retries) {
      clearTimeout(timer)
      giveUp(waiting, 'the service stops')
    }
    retries.clear()
    for (let next = queue.take(); next !== undefined; next = queue.take()) giveUp(next, 'the service stops')
  }
  return {
    // How long a mail server takes would show a stranger whether an address is known.
    // With the API's login a shop can be given any id, somebody's address too.
    send: async (message, shop, hooks) =>
      add({ message, sender: shop === undefined ? message.to : senderOf(shop), attempts: 0, hooks }),
    hasRoom: (emails, shop) =>
      shop === undefined
        ? room() >= emails
        : room() - OF_NO_SHOP >= emails && roomOf(senderOf(shop)) >= emails,
    close: async () => {
      isClosing = true
      giveUpWaiting()
      await Promise.all(underWay)
      await allTold()
    },
  }
}

/** The way to a mail server. `requireTLS`: a connection that is not encrypted fails with the code `ETLS`. */
export const smtpTransport = (smtpUrl: string, { requireTLS = false } = {}) =>
  createTransport({
    url: smtpUrl,
    requireTLS,
    connectionTimeout: TIMEOUT_MS,
    greetingTimeout: TIMEOUT_MS,
    socketTimeout: TIMEOUT_MS,
    socketCloseTimeout: HANG_UP_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
  })

/** Tells whoever handed an email over that it was not sent. */
function createTeller(log: Log) {
  const underWay = new Set<Promise<void>>()
  return {
    tell: ({ hooks }: Waiting, reason: 'not_due' | 'given_up'): void => {
      if (hooks === undefined) return
      const telling = hooks
        .onNotSent(reason)
        .catch((error: unknown) => log.warn({ err: error }, 'that an email was not sent was not recorded'))
        .finally(() => underWay.delete(telling))
      underWay.add(telling)
    },
    allTold: async (): Promise<void> => void (await Promise.all(underWay)),
  }
}

type Waiting = {
  readonly message: Email
  readonly sender: string
  readonly attempts: number
  readonly hooks: EmailHooks | undefined
}

const senderOf = (shop: string): string => `shop ${shop}`

/** The fields of an email that the mail server gets, each on one line but the text. */
function written({ to, subject, text, unsubscribeUrl }: Email) {
  const list = {
    'List-Unsubscribe': `<${unsubscribeUrl}>`,
    'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
  }
  return {
    to,
    subject: subject.replace(LINE_BREAK, ' '),
    text,
    ...(unsubscribeUrl === undefined ? {} : { headers: list }),
  }
}

const isFinal = (error: unknown): boolean =>
  error instanceof Error &&
  'responseCode' in error &&
  typeof error.responseCode === 'number' &&
  error.responseCode >= REPLY_FINAL_MIN

/**
 * What waits, in turns: whoever has much waiting delays nobody else's by more than one item. Bounded for each key and
 * in all.
 */
export class FairQueue<Item> {
  readonly #waiting = new Map<string, Item[]>()
  readonly #max: { readonly perKey: number; readonly all: number }
  #size = 0

  constructor(max: { readonly perKey: number; readonly all: number }) {
    this.#max = max
  }

  get size(): number {
    return this.#size
  }

  sizeOf(key: string): number {
    return this.#waiting.get(key)?.length ?? 0
  }

  /** False where its key, or the queue, is full. */
  add(key: string, item: Item): boolean {
    const items = this.#waiting.get(key) ?? []
    if (items.length >= this.#max.perKey || this.#size >= this.#max.all) return false
    items.push(item)
    this.#waiting.set(key, items)
    this.#size += 1
    return true
  }

  /** The oldest item of the key whose turn it is, which then goes to the end of the line; undefined where none waits. */
  take(): Item | undefined {
    const [next] = this.#waiting
    if (next === undefined) return undefined
    const [key, items] = next
    const item = items.shift()
    this.#waiting.delete(key)
    if (items.length > 0) this.#waiting.set(key, items)
    this.#size -= 1
    return item
  }
}
