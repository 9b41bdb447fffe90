import { createTransport } from 'nodemailer'
import { describeError, type Log } from '../log.ts'

export type Email = { readonly to: string; readonly subject: string; readonly text: string }

/** Who our e-mails come from. */
export const mailFrom = (baseUrl: string): string => `Paylink <no-reply@${new URL(baseUrl).hostname}>`

/** Sends e-mails. `send` never throws and never makes its caller wait for a mail server. */
export type Mail = { send(message: Email): Promise<void> }

type OpenMail = Mail & {
  /** Resolves when every e-mail under way was sent, or given up. */
  close(): Promise<void>
}

const TIMEOUT_MS = 10_000
/** A server that was given up, and does not hang up itself, is hung up on. */
const HANG_UP_MS = 500
/** E-mails under way at once; more are refused with a line in the log. */
const UNDER_WAY_MAX = 50
const LINE_BREAK = /[\r\n]+/g

/**
 * Mail over SMTP, or, where no server is configured, written to the log for whoever runs this server to read.
 */
export function openMail(options: { smtpUrl: string | null; from: string; log: Log }): OpenMail {
  const { smtpUrl, from, log } = options
  if (smtpUrl === null) {
    return {
      send: async (message) => log.warn({ mail: message }, 'no SMTP_URL is set: this e-mail was not sent'),
      close: async () => {},
    }
  }
  const transport = createTransport({
    url: smtpUrl,
    connectionTimeout: TIMEOUT_MS,
    greetingTimeout: TIMEOUT_MS,
    socketTimeout: TIMEOUT_MS,
    socketCloseTimeout: HANG_UP_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  const underWay = new Set<Promise<void>>()
  const deliver = async (message: Email): Promise<void> => {
    try {
      await transport.sendMail({ from, ...message, subject: message.subject.replace(LINE_BREAK, ' ') })
    } catch (error) {
      log.error({ to: message.to, reason: describeError(error) }, 'an e-mail could not be sent')
    }
  }
  return {
    send: async (message) => {
      if (underWay.size >= UNDER_WAY_MAX) {
        log.error({ to: message.to }, 'an e-mail was not sent: too many are under way')
        return
      }
      // How long a mail server takes would tell a stranger whether an address is known.
      const delivery = deliver(message).finally(() => underWay.delete(delivery))
      underWay.add(delivery)
    },
    close: async () => {
      await Promise.all(underWay)
    },
  }
}
