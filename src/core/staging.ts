/** What every page, e-mail and answer of a staging installation says. */
export const STAGING_WORDS = 'Staging: private chains, no real money'
export const STAGING_HEADER = 'paylink-staging'
