/**
 * Who may make an account: anybody; those with an invitation to a shop; nobody. In the latter two nobody opens a further shop
 * either: the operator creates shops, with `paylink merchant create`.
 */
export const SIGN_UPS = ['open', 'invite', 'closed'] as const
export type SignUp = (typeof SIGN_UPS)[number]

/** For shopkeepers. */
export const SIGN_UP_MESSAGES: { readonly [signUp in Exclude<SignUp, 'open'>]: string } = {
  invite:
    'You need an invitation to sign up here. Use the email address it was sent to, or ask whoever runs this server.',
  closed: 'New accounts are made by whoever runs this server. Ask them for a shop or an account.',
}
