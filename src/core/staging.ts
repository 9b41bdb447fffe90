/** What every page, email and answer of a staging installation says. */
export const STAGING_NOTICE = 'Staging: private chains, no real money'
export const STAGING_HEADER = 'paylink-staging'
