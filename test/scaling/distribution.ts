/**
 * How the tables would lie on Citus: `merchant_id` distributes all that belongs to a merchant, colocated, so that every
 * transaction of one merchant stays on one node. docs/scaling.md tells it to operators.
 */
export const DISTRIBUTION_COLUMN = 'merchant_id'

/** Small, read by transactions of every merchant or joined with their rows: a copy on every node. */
export const REFERENCE_TABLES: { readonly [table: string]: string } = {
  merchant: 'every tenant table refers to it; written when a merchant is made',
  fee_destination: 'the operator’s list of addresses, to which payouts of fees refer; a few rows',
  asset_price: 'one row for each asset and mode',
  network_state: 'one row for each network; an address is handed out after a look at it',
  network_watch: 'one row for each network; an address is handed out after a look at it',
  network_fee: 'one row for each network',
  hot_wallet: 'one row for each network',
  solana_house: 'one row for each network',
  person: 'people belong to several merchants, and e-mails that they refused refer to them',
}

/** Of the installation, asked by no transaction of a merchant that must be fast: they stay on the coordinator. */
export const LOCAL_TABLES: { readonly [table: string]: string } = {
  schema_migration: 'what the owner migrated',
  account_key: 'one row for each keyspace',
  account_nonce: 'one sequence for each hot wallet, across merchants',
  solana_nonce: 'a few rows for each network',
  solana_chore: 'what the signer does with its own accounts, for merchants together',
  address: 'the pool of addresses that are nobody’s yet; taking one is a transaction of the pool',
  address_batch: 'batches that the signer signed, until they are in the pool',
  lost_payout: 'rows only after a restore, asked by the signer',
  installation_secret: 'one row',
  payout_approval_key: 'one row',
  operator: 'one row for each operator',
  notice_cursor: 'one row',
  audit_run: 'one row for each audit of the installation',
  secret_guess: 'counts guesses by account',
  person_session: 'people belong to several merchants',
  person_account: 'people belong to several merchants',
  person_verification: 'people belong to several merchants',
  person_two_factor: 'people belong to several merchants',
  person_passkey: 'people belong to several merchants',
  person_place: 'people belong to several merchants',
  presented_code: 'people belong to several merchants',
  sign_in_rate: 'counts callers that are nobody yet',
  organization: 'of the sign-in library, beside its people',
  organization_member: 'of the sign-in library, beside its people',
  organization_invitation: 'of the sign-in library, beside its people',
}

const NETWORK =
  'follows a network, whose blocks hold payments of all merchants; each node answers from its own index'
const UPKEEP = 'upkeep of the whole queue in bounded pages, which each node can do for itself'
const AUDIT = 'the audit reads everything'
const FIGURE = 'a figure of the whole installation, for operators'
const FEES =
  'the operator’s command about fees of all merchants; each payout of them is a transaction of its merchant'
const PAYOUTS =
  'carries all payouts, sweeps and x402 payments of a network, a handful of rows by a partial index'

/**
 * Query functions that ask every node, and why. All others name the merchant. None of these is in the way of a request
 * to the API but the first, which on Citus begins with a look-up table.
 */
export const ACROSS_MERCHANTS: { readonly [query: string]: string } = {
  'api-keys.ts findApiKey':
    'the key says whose it is: on Citus a table of hashes on the coordinator names the merchant',
  'api-keys.ts revokeApiKey': 'the operator’s command knows a key by its id alone',
  'account-nonces.ts listLiveIntents': PAYOUTS,
  'hot-wallets.ts hasTokenMoney': PAYOUTS,
  'solana-chores.ts listSweepNeeds': PAYOUTS,
  'solana-chores.ts loadVaultCredit': PAYOUTS,
  'solana-chores.ts loadVaultDue': AUDIT,
  'solana-chores.ts listHeldLamports': AUDIT,
  'solana-house.ts sumSolanaPayouts': PAYOUTS,
  'hot-wallets.ts sumHotObligations': PAYOUTS,
  'payout-transactions.ts listFailedPayouts': PAYOUTS,
  'lost-payouts.ts listAccountedPayouts': PAYOUTS,
  'lost-payouts.ts countLostPayouts': FIGURE,
  'long-waits.ts listLongWaits': FIGURE,
  'journal-questions.ts listJournalQuestions': PAYOUTS,
  'payouts.ts listLatelyConfirmed': PAYOUTS,
  'payouts.ts listPayoutsUnderWay': PAYOUTS,
  'sweeps.ts listSweepsUnderWay': PAYOUTS,
  'sweeps.ts loadNextSweep': PAYOUTS,
  'x402-authorizations.ts countX402Transactions': PAYOUTS,
  'x402-authorizations.ts listX402UnderWay': PAYOUTS,
  'audit.ts firstDepositAt': AUDIT,
  'audit.ts listBlocksWithTransfers': AUDIT,
  'audit.ts listBookedCoins': AUDIT,
  'audit.ts listHeldDeposits': AUDIT,
  'audit.ts listInvoiceKinds': AUDIT,
  'audit.ts listInvoicesOfKind': AUDIT,
  'audit.ts listInvoicesPaidSeverally': AUDIT,
  'audit.ts listSpentCoins': AUDIT,
  'audit.ts listTransfersInBlocks': AUDIT,
  'audit.ts streamDepositPrograms': AUDIT,
  'checked-credits.ts listUncheckedClaims': NETWORK,
  'second-reading.ts listCreditsBetween': NETWORK,
  'transfers.ts leaveTransfersBehind': NETWORK,
  'transfers.ts loadTrackedTransfers': NETWORK,
  'watched-programs.ts findProgramOwners': NETWORK,
  'watched-programs.ts listOpenPrograms': NETWORK,
  'invoices.ts findInvoicesPastDeadline': NETWORK,
  'delivery-claims.ts claimFromLanes':
    'a worker takes what is due of all merchants; on Citus one worker claims from one node',
  'delivery-claims.ts claimProbes':
    'a worker takes what is due of all merchants; on Citus one worker claims from one node',
  'delivery-metrics.ts countOpenLanes': FIGURE,
  'delivery-metrics.ts oldestDueSeconds': FIGURE,
  'doctor.ts readDoctorFacts': FIGURE,
  'ledger.ts countShortfalls': FIGURE,
  'fees.ts listFeeTotals': FIGURE,
  'fees.ts listMerchantsWithFees': FEES,
  'fees.ts findFeePayoutTenant': FEES,
  'fees.ts listFeePayouts': FEES,
  'card-purchases.ts forgetCardBuyers': UPKEEP,
  'delivery-upkeep.ts deleteDeliveredEvents': UPKEEP,
  'delivery-upkeep.ts deleteEndedSecrets': UPKEEP,
  'delivery-upkeep.ts deleteOldIdempotencyKeys': UPKEEP,
  'request-log.ts deleteOldRequests': UPKEEP,
  'installation-secret.ts holdsSealedRows': 'asked once at a start',
  'merchants.ts loadMerchantName': 'names the merchant by `merchant.id`, with which its branding is joined',
  'merchants.ts loadMerchantProfile':
    'names the merchant by `merchant.id`, with which its branding is joined',
  'notices.ts eventsForNotice':
    'e-mails are written in the order of events of all merchants, in bounded pages',
  'notices.ts newestEventId': 'e-mails are written in the order of events of all merchants, in bounded pages',
  'notices.ts takeStoppedEndpoints': 'e-mails about stopped endpoints of all merchants, in bounded pages',
  'people.ts findPersonToTell':
    'a sign-in is of no merchant: asks whether its person refused such e-mails in every shop of theirs',
}
