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
  notice_refusal: 'who may sign in: see docs/decisions/trust.md',
  notice_cursor: 'who may sign in: see docs/decisions/trust.md',
  attempt: 'what is told, sold or logged; no payout and no address is made from it',
  branding: 'what is told, sold or logged; no payout and no address is made from it',
  delivery: 'what is told, sold or logged; no payout and no address is made from it',
  delivery_lane: 'what is told, sold or logged; no payout and no address is made from it',
  endpoint_secret: 'what is told, sold or logged; no payout and no address is made from it',
  event_awaiting: 'what is told, sold or logged; no payout and no address is made from it',
  webhook_endpoint: 'what is told, sold or logged; no payout and no address is made from it',
  request_log: 'what is told, sold or logged; no payout and no address is made from it',
  idempotency_key: 'what is told, sold or logged; no payout and no address is made from it',
  installation_secret: 'what is told, sold or logged; no payout and no address is made from it',
  api_key: 'what is told, sold or logged; no payout and no address is made from it',
  operator: 'who may have fees paid out: no login writes it',
  known_manager: 'who is warned by e-mail: delivery alone writes it',
  schema_migration: 'what is told, sold or logged; no payout and no address is made from it',
  card_purchase: 'what is told, sold or logged; no payout and no address is made from it',
  checkout_session: 'what is told, sold or logged; no payout and no address is made from it',
  payment_link: 'what is told, sold or logged; no payout and no address is made from it',
  imported_invoice: 'what is told, sold or logged; no payout and no address is made from it',
  audit_entry: 'what is told, sold or logged; no payout and no address is made from it',
  audit_run: 'what is told, sold or logged; no payout and no address is made from it',
  invoice_resolution: 'what is told, sold or logged; no payout and no address is made from it',
  merchant: 'what is told, sold or logged; no payout and no address is made from it',
  asset_price: 'what is told, sold or logged; no payout and no address is made from it',
}

const because = (reason: string, keys: string): { readonly [attack: string]: string } =>
  Object.fromEntries(keys.split(', ').map((key) => [key, reason]))
const columns = (of: string, names: string): string =>
  names
    .split(' ')
    .map((name) => `${of}.${name}`)
    .join(', ')

const TERMS =
  'terms of invoices are the word of the API: a buyer is asked for less, or more, than the shop wanted'
const SHOWN = 'shown to people, or asked for by a shop: no amount, address or payout follows from it'
const STATUS =
  'the status can be consistent with its times and still untrue: a shop ships, or waits, without a payment'
const HELD = 'a payout is shown as ended or waits; the signer signs each once, by its own journal'
const REVIEWED = 'a payment goes to or leaves review: the invoice counts as paid, or as not yet paid'
const READING =
  'the watcher reads the chain anew, waits, or halts: payments are late; the coins are where they were'
const PRICES =
  'fees are too high or too low, up to what was approved with the payout; the watcher sets them again'
const KNOWN =
  'the signer goes by its own files: a false value here stops signing, or is set again at the next start'

/** Attacks that succeed and that no audit names, each with what it can do all the same. */
export const UNNAMED: { readonly [attack: string]: string } = {
  ...because(
    TERMS,
    columns(
      'api update invoice',
      'asset allow_asset_selection asset_picked confirmations rate usd_cents tolerance_over tolerance_under expires_at',
    ),
  ),
  ...because(
    SHOWN,
    columns(
      'api update invoice',
      'checkout_session_id created_at customer_email external_reference metadata order_reference payment_link_id reopened_from return_url visit_digest',
    ),
  ),
  ...because(
    STATUS,
    columns(
      'api update invoice',
      'accepted_at announced cancelled_at event_count expired_at expiry_reading paid_at reorg_dismissed',
    ),
  ),
  ...because(
    STATUS,
    columns(
      'watcher update invoice',
      'accepted_at announced cancelled_at event_count expired_at expiry_reading paid_at reorg_dismissed',
    ),
  ),
  ...because(HELD, columns('api update payout', 'approved_at event_count rejected_at rejected_by status')),
  ...because(HELD, 'api update payout_destination.removed_at'),
  ...because(
    HELD,
    columns('watcher update payout', 'confirmed_at event_count failed_at failure_code status submitted_at'),
  ),
  ...because(
    REVIEWED,
    columns(
      'api update transfer',
      'announced_confirming announced_review late resolution review_reason detected_at first_seen_at',
    ),
  ),
  ...because(
    REVIEWED,
    columns(
      'watcher update transfer',
      'announced_confirming announced_review late resolution review_reason first_seen_at',
    ),
  ),
  ...because(
    READING,
    columns(
      'api update transfer',
      'block_hash block_time checked_block_hash confirmations_required confirmed_at finality_mark left_on_chain output_index',
    ),
  ),
  ...because(
    READING,
    columns('watcher update transfer', 'block_hash block_time checked_block_hash confirmed_at left_on_chain'),
  ),
  ...because(
    READING,
    columns(
      'watcher update network_state',
      'block_time chain finalized_height hash height minimum network notifications_silent parameters payout_notice payout_provider read_at reason safe_height second_hash second_height status tip_height updated_at',
    ),
  ),
  ...because(PRICES, columns('watcher update network_fee', 'milli_per_vbyte network updated_at')),
  ...because(
    PRICES,
    columns(
      'watcher update solana_house',
      'blockhash fee_payer_lamports last_valid_height nonce_rent_exempt read_at rent_exempt unit_price vault_lamports',
    ),
  ),
  ...because(
    KNOWN,
    'signer insert payout_change, signer update account_key.next_index, signer update signer_approval_key.public_key, signer update solana_house.fee_payer, signer update solana_house.vault',
  ),
}
