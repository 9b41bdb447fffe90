import type { Email } from '../mail/mail.ts'
import { plainText } from '../mail/plain-text.ts'
import { dashboardUrl } from '../runtime/own-cell.ts'

type Addressee = { readonly email: string }

/**
 * Emails that anybody can have sent to any address hold nothing that a stranger wrote, the name included.
 *
 * The links lead to the dashboard's own pages, which hand the token on by a request that a mail scanner does not make.
 */
export function verificationMail(baseUrl: string, user: Addressee, token: string): Email {
  return {
    to: user.email,
    subject: 'Confirm your email address',
    text: `Hello,

confirm that this address is yours:

${dashboardUrl(baseUrl)}/verify-email?token=${encodeURIComponent(token)}

The link is good for 24 hours. If you did not sign up, do nothing.`,
  }
}

export function resetMail(baseUrl: string, user: Addressee, token: string): Email {
  return {
    to: user.email,
    subject: 'Choose a new password',
    text: `Hello,

choose a new password here:

${dashboardUrl(baseUrl)}/reset-password?token=${encodeURIComponent(token)}

The link is good for one hour and works once. If you did not ask for it, do nothing: your password stays as it is.`,
  }
}

export function invitationMail(
  baseUrl: string,
  invitation: { id: string; email: string; inviter: string; merchant: string },
): Email {
  return {
    to: invitation.email,
    subject: 'You are invited to a shop on Paylink',
    text: `Hello,

“${plainText(invitation.inviter, 'somebody')}” invites you to help run the shop “${plainText(invitation.merchant, 'a shop')}” on Paylink.

${dashboardUrl(baseUrl)}/invitation?id=${encodeURIComponent(invitation.id)}

Sign in, or sign up with this address, to accept. The invitation is good for seven days. If you do not know who this is, do nothing.`,
  }
}
