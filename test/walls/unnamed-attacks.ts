/** Tables on which no money depends, each with the reason. */
export const NO_MONEY: { readonly [table: string]: string } = {
  person: 'who may sign in: see docs/decisions/trust.md',
  person_account: 'who may sign in: see docs/decisions/trust.md',
  person_passkey: 'who may sign in: see docs/decisions/trust.md',
  person_place: 'who may sign in: see docs/decisions/trust.md',
  person_session: 'who may sign in: see docs/decisions/trust.md',
  person_two_factor: 'who may sign in: see docs/decisions/trust.md',
  person_verification: 'who may sign in: see docs/decisions/trust.md',
  presented_code: 'who may sign in: see docs/decisions/trust.md',
  secret_guess: 'who may sign in: see docs/decisions/trust.md',
  sign_in_rate: 'who may sign in: see docs/decisions/trust.md',
  organization: 'who may sign in: see docs/decisions/trust.md',
  organization_invitation: 'who may sign in: see docs/decisions/trust.md',
  organization_member: 'who may sign in: see docs/decisions/trust.md',
  directory_cell: 'where somebody signs in, not whether: see scaling/directory',
  directory_change: 'where somebody signs in, not whether: see scaling/directory',
  notice_refusal: 'who may sign in: see docs/decisions/trust.md',
  notice_cursor: 'who may sign in: see docs/decisions/trust.md',
  attempt: 'what is reported, sold or logged; no payout and no address is made from it',
  branding: 'what is reported, sold or logged; no payout and no address is made from it',
  delivery: 'what is reported, sold or logged; no payout and no address is made from it',
  delivery_lane: 'what is reported, sold or logged; no payout and no address is made from it',
  endpoint_secret: 'what is reported, sold or logged; no payout and no address is made from it',
  event_awaiting: 'what is reported, sold or logged; no payout and no address is made from it',
  webhook_endpoint: 'what is reported, sold or logged; no payout and no address is made from it',
  request_log: 'what is reported, sold or logged; no payout and no address is made from it',
  idempotency_key: 'what is reported, sold or logged; no payout and no address is made from it',
  installation: 'whether the database is one of staging: no login writes it',
  installation_secret: 'what is reported, sold or logged; no payout and no address is made from it',
  api_key: 'what is reported, sold or logged; no payout and no address is made from it',
  access_sealed: 'whose rows count: see walls/forged-access',
  access_set: 'whose rows count: see walls/forged-access',
  person_totp_seal: 'who approves live payouts: see signer/live-approvals',
  approver_seen: 'who approves live payouts: see signer/live-approvals',
  approver_sighting: 'who approves live payouts: see signer/live-approvals',
  destination_sighting: 'which live destinations are known: see walls/destinations',
  signer_list: 'which live destinations and approvers are known: see walls/destinations',
  operator: 'who may have fees paid out: no login writes it',
  known_manager: 'who is warned by email: delivery alone writes it',
  schema_migration: 'what is reported, sold or logged; no payout and no address is made from it',
  card_purchase: 'what is reported, sold or logged; no payout and no address is made from it',
  till_picture: 'what is reported, sold or logged; no payout and no address is made from it',
  saved_view: 'what is reported, sold or logged; no payout and no address is made from it',
  deposit: 'what was announced of payments: the money is in their transfers; see audit/deposit-checks',
  deposit_account: 'who has addresses, which come from the pool; nobody changes a row of it',
  invoice_note: 'what is reported, sold or logged; no payout and no address is made from it',
  buyer_email: 'what is reported, sold or logged; no payout and no address is made from it',
  buyer_optout: 'what is reported, sold or logged; no payout and no address is made from it',
  receipt_request: 'what is reported, sold or logged; no payout and no address is made from it',
  checkout_session: 'what is sold; whose it is, and for how much, nobody changes: see walls/rows-stay',
  payment_link: 'what is sold; whose it is, nobody changes: see walls/rows-stay',
  imported_invoice: 'what is reported, sold or logged; no payout and no address is made from it',
  audit_entry: 'what is reported, sold or logged; no payout and no address is made from it',
  audit_run: 'what an audit found: see walls/audit-evidence',
  invoice_resolution: 'what is reported, sold or logged; no payout and no address is made from it',
  currency_rate: 'what is reported, sold or logged; no payout and no address is made from it',
  merchant: 'what is reported, sold or logged; no payout and no address is made from it',
  asset_price:
    'what is reported, sold or logged, and whether a sweep waits; no payout and no address is made from it',
}

export type Chain = 'Litecoin' | 'Base' | 'Solana'

const OF_ACCOUNTS = ['outcome_seal', 'payout_gas']
const OF_EVM = [
  'account_nonce',
  'found_payout',
  'frozen_deposit',
  'hot_wallet',
  'hot_wallet_token',
  'sweep',
  'sweep_transaction',
  'sweep_transfer',
  'x402_authorization',
  'x402_transaction',
]
const OF_SOLANA = [
  'solana_chore',
  'solana_found_sweep',
  'solana_nonce',
  'solana_token_sweep',
  'solana_vault_token',
]
const OF_COINS = ['network_fee', 'payout_change', 'payout_input']

/** Tables of money that hold no row on a chain. */
export const EMPTY: { readonly [chain in Chain]: readonly string[] } = {
  Litecoin: [...OF_ACCOUNTS, ...OF_EVM, ...OF_SOLANA],
  Base: [...OF_COINS, ...OF_SOLANA],
  Solana: [...OF_COINS, ...OF_EVM],
}

/** Columns of one table with which nobody can do more than with the others. */
const columns = (of: string, reason: string, names: string): { readonly [attack: string]: string } =>
  Object.fromEntries(names.split(' ').map((name) => [`${of}.${name}`, reason]))

const READ_ANEW = 'the watcher writes it again with its next reading: payments are late meanwhile'
const PRICED_ANEW =
  'fees are too high or too low until the watcher reads them again, and never above what was approved with the payout, or for a token above what is believed: see walls/watchers-gas'
const HOLDS_UP =
  'payouts wait or are given up, and their money goes back to the balance; nothing is signed for it'
const BY_SEAL =
  'a seal that the watcher’s key did not make counts for nothing: a payout waits until it is made anew'

/** Attacks that succeed and that no audit names, each with what it can do all the same. */
export const UNNAMED: { readonly [attack: string]: string } = {
  'api update address.assigned_at':
    'another time is kept of when an address was taken; one that goes back to the pool is named',
  'api update address.leased_until':
    'addresses are kept from other processes for a time, or offered to two; whichever takes one first has it alone',
  'api update invoice.asset_picked': 'a card buys another coin than the buyer chose, for the same invoice',
  'api update invoice.confirmations': 'an invoice is paid after fewer blocks, or more, than the shop wanted',
  'api update invoice.expires_at': 'a test invoice ends earlier; a live one cannot be moved',
  'api update invoice.rate': 'another price is shown beside the amount, which stays',
  'api update invoice.token_rates':
    'of no use where an invoice asks for one coin; where it takes dollars of any issuer, one whose payments no longer fit its status is named',
  'api update invoice.visit_digest':
    "a press of a payment link's button makes a second invoice, or finds none",
  'api update payout.approved_at': 'another time is shown; the signer reads the time in the signed approval',
  ...columns(
    'api update payment_rules',
    'what counts as paid, and the daily limit: see walls/unsealed-rows',
    'rules updated_at',
  ),
  'api update payout_destination.removed_at':
    'a destination is taken off the list, which holds its payouts up',
  'watcher update transfer.announced_confirming': 'one event more, or one less, reports a payment in a block',
  'watcher update transfer.announced_review': 'one event more, or one less, reports a payment under review',
  'watcher update transfer.late':
    'a payment is shown as late, or as in time; its amount counts in the same way',
  'watcher update transfer.first_seen_at': 'a payment counts as in time, or as late, before it was judged',
  'watcher update transfer.confirmed_at': 'another time is shown beside a confirmed payment',
  'watcher update transfer.block_hash': 'the payment is looked for again, and found where it is',
  'watcher update transfer.block_time': 'another time is shown beside a block',
  'watcher update transfer.checked_block_hash': "a block's outputs are read again by the audit, or once less",
  'watcher update transfer.left_on_chain': 'a payment is followed no more: it stays at the state that it has',
  ...columns(
    'watcher update network_state',
    READ_ANEW,
    'block_time chain finalized_height hash height notifications_silent parameters read_at reason safe_height second_hash second_height status updated_at',
  ),
  'watcher update network_state.minimum':
    'invoices in SOL are refused, or too small for a new account, until it is read again',
  'watcher update network_state.payout_notice': 'another note is shown about payouts of a network',
  'watcher update network_state.payout_provider': 'another provider is shown as the one that broadcasts',
  ...columns('watcher update network_fee', PRICED_ANEW, 'milli_per_vbyte updated_at'),
  ...columns(
    'watcher update solana_house',
    PRICED_ANEW,
    'blockhash fee_payer_lamports last_valid_height nonce_rent_exempt read_at rent_exempt unit_price vault_lamports',
  ),
  ...columns(
    'watcher update address_batch',
    'addresses come into the pool late, or again; each is checked when it is shown',
    'refused_at taken_at',
  ),
  ...columns(
    'watcher update network_watch',
    'invoices get no address, or one whose payment is seen only after the next start',
    'through updated_at',
  ),
  'watcher delete network_watch': 'invoices get no address until the watcher writes it again',
  ...columns(
    'watcher update journal_question',
    'a payout is given up before the signer was asked: as when its status is written',
    'answered_at asked_at',
  ),
  'watcher insert journal_question': 'the signer answers a question more',
  'watcher insert payout_refusal': HOLDS_UP,
  ...columns(
    'watcher update hot_wallet',
    BY_SEAL,
    'address balance base_fee chain_id height new_account_gas nonce seal tip token_balance token_contract token_name token_version updated_at',
  ),
  ...columns('watcher update hot_wallet_token', BY_SEAL, 'balance contract name updated_at version'),
  ...columns(
    'watcher update frozen_deposit',
    'another note is shown of a deposit that its issuer has frozen, or none',
    'amount checked_at',
  ),
  'watcher delete frozen_deposit': 'no note is shown of a frozen deposit until its sweep fails again',
  'watcher insert frozen_deposit': 'a deposit is noted as frozen, and is not swept',
  'watcher update sweep.final_at': 'a sweep is looked at no more, or again',
  'watcher update x402_authorization.status':
    'a payer is shown that a payment failed, which the invoice shows; one that is called settled and was not is named',
  'watcher update x402_authorization.done_at': 'a payment by authorization is looked at no more, or again',
  'watcher update x402_authorization.last_valid_height':
    'a payer is shown too early or too late that a payment failed, which the invoice shows',
  ...columns(
    'watcher update x402_fee_payer',
    'payments by x402 are offered that the chain refuses, or none are, until it is read again',
    'account_rent lamports read_at',
  ),
  ...columns('watcher update solana_nonce', PRICED_ANEW, 'read_at value'),
  'watcher delete solana_nonce': READ_ANEW,
  'watcher insert solana_chore':
    "a nonce more is asked for: the fee payer's own money, and bounded by the hour",
  ...columns(
    'watcher update solana_vault_token',
    'payouts of a test token wait, or go wrong on the chain; for live money the signer knows the mint',
    'amount mint read_at refusal',
  ),
  'watcher insert solana_vault_token': 'a token is said to be there, whose payouts then wait for its money',
  'watcher delete solana_vault_token': READ_ANEW,
  'watcher update solana_token_sweep.ended_at': 'another time is kept of when a sweep ended',
  'watcher insert solana_token_sweep': 'what the books say lies at an address is swept for its merchant',
  'watcher update outcome_seal.seal': BY_SEAL,
  ...columns(
    'watcher update found_payout',
    'terms that the signer did not sign count for nothing',
    'found_at gas max_fee tip value',
  ),
  'watcher insert found_payout': 'terms that the signer did not sign count for nothing',
  'watcher insert solana_found_sweep': 'bytes that the signer did not sign count for nothing',
  'signer insert payout_change': "a false output counts as the signer's own; it spends by its own files",
  ...columns('signer update payout_hold', 'another note is shown of a payout that waits', 'held_at until'),
  'signer insert payout_hold': 'another note is shown of a payout that waits',
  'signer insert payout_refusal': HOLDS_UP,
  'signer insert lost_payout': 'an operator is asked about a payout that is not lost',
  ...columns(
    'signer update journal_question',
    'a payout is given up before the signer was asked: as when its status is written',
    'answered_at asked_at',
  ),
  'signer insert address_batch': "addresses without the signer's signature are refused",
  'signer delete address_batch': 'the signer issues the same addresses again',
  ...columns(
    'signer update solana_chore',
    'what is carried to the chain is not what was signed: the chain refuses it',
    'last_valid_height raw signed_at txid',
  ),
  ...columns(
    'signer update solana_token_sweep',
    'what is carried to the chain is not what was signed: the chain refuses it',
    'last_valid_height raw signed_at txid',
  ),
  'signer update account_key.next_index':
    'addresses are left out, or refused as taken: no invoice gets one twice',
  'signer update signer_approval_key.outcome_key': "doctor shows another key; the signer's own file decides",
  'signer update signer_approval_key.public_key': "the API sees another key; the signer's own file decides",
  'signer update solana_house.fee_payer': 'fees cannot be paid until the signer writes it again at its start',
  'signer update x402_fee_payer.address':
    'payments by x402 are refused until the signer writes it again in its next turn',
  'signer update solana_house.vault': 'payouts in SOL fail until the signer writes it again at its start',
}
