import type { Plural } from './plural.ts'

/**
 * Everything that the buyer's pages say. Words in braces are filled in by the page; a translation is another
 * file with the same keys and the same words in braces.
 */
export const en = {
  title_pay: 'Pay {merchant}',
  title_state: '{state} – {merchant}',

  test_banner: 'Test mode: no real money moves. Do not send real coins.',
  offline: 'No connection: this page may be out of date. Trying again…',
  footer_live: 'This page updates by itself.',
  footer_reload: 'This page reloads every 15 seconds.',
  language: 'Language',

  step_label: 'Progress of the payment',
  step_send: 'Send',
  step_detected: 'Detected',
  step_confirmed: 'Confirmed',
  step_done: '{step}: done',

  awaiting_heading: 'Send {amount}',
  awaiting_lead: '{usd} to {merchant}',
  awaiting_lead_coin: 'Payment to {merchant}',
  underpaid_heading: 'Send {amount} more',
  underpaid_lead: 'We received {received} of {amount}. Send the rest to the same address.',
  underpaid_over_heading: 'The payment is incomplete',
  underpaid_over_lead:
    'We received {received} of {amount}, and the time to send the rest is over. {merchant} decides what happens next: please contact them.',
  checking_heading: 'Checking for your payment',
  checking_lead:
    'The time to pay is over. We are reading the {network} network once more for a payment that is already on its way. Please do not send anything now.',
  detected_heading: 'Payment detected',
  detected_lead:
    'The {network} network has your payment, and it now waits for its first confirmation. You can close this page.',
  confirming_heading: 'Confirming your payment',
  confirming_lead: 'Your payment is in the {network} network’s chain. You can close this page.',
  confirmations: 'Confirmation {reached} of {required}',
  finalising: 'Waiting until the network makes it final',
  paid_heading: 'Payment complete',
  paid_lead: 'Thank you. {merchant} has your payment.',
  overpaid_heading: 'Payment complete',
  overpaid_lead:
    '{merchant} has your payment. It was {excess} more than the price; please ask {merchant} about the difference.',
  expired_heading: 'The time to pay is over',
  expired_lead: 'No payment was found, and the price is no longer locked.',
  expired_unpaid_heading: 'I haven’t paid',
  expired_unpaid:
    'Do not send anything to this payment’s address any more. Go back to {merchant} and start again to get the current price.',
  reopen_lead:
    'You get a new address at the current price. Do not send anything to this payment’s address any more.',
  reopen_action: 'I haven’t paid: get the current price',
  reopen_refused: 'There is no current price just now. Please try again in a few minutes.',
  expired_sent_heading: 'I already sent it',
  watch_action: 'I already sent it: keep watching',
  watching_heading: 'Still watching for your payment',
  expired_sent:
    'Keep this page open: we are still watching, and what reaches the network within ten minutes of the deadline still counts. What comes later waits for {merchant} to review it; it is not lost.',
  cancelled_heading: 'This payment was cancelled',
  cancelled_lead:
    'Do not send anything to its address. If you already have, {merchant} will find your payment and review it.',
  review_heading: 'We found your payment',
  review_late: 'It arrived after the time to pay was over, so {merchant} must review it. It is not lost.',
  review_cancelled:
    'It arrived after this payment was cancelled, so {merchant} must review it. It is not lost.',
  review_reorged_heading: 'Your payment is under review',
  review_reorged:
    'The {network} network took back the block that held your payment. It may confirm again by itself; until then {merchant} must review it.',
  review_other: '{merchant} must review it. It is not lost.',
  note_wrong_asset:
    'We found {amount} on the {network} network. It is not the coin of this payment and does not count towards it; {merchant} must review it.',
  note_after_settlement: 'A further payment of {amount} came in. {merchant} must review it.',

  locked_until: 'Rate locked until {time}',
  pay_by: 'Pay by {time}',
  time_left: '{time} left',
  warning_left: {
    one: 'Less than {count} minute left to pay.',
    other: 'Less than {count} minutes left to pay.',
  } as Plural,

  rate: '1 {symbol} = {usd}',
  network_warning: 'Send only {symbol}, on the {network} network. Anything else may be lost.',
  qr_label: 'What the QR code holds',
  qr_payment: 'With amount',
  qr_address: 'Address only',
  qr_payment_alt: 'QR code with the address and the amount',
  qr_address_alt: 'QR code with the address only',
  open_wallet: 'Open in wallet',
  wallet_pay: 'Pay with {wallet}',
  wallet_confirm: 'Please confirm in {wallet}.',
  wallet_sent: '{wallet} has sent it. This page changes as soon as the network has it.',
  wallet_rejected: 'You declined it in {wallet}. Nothing was sent.',
  wallet_unknown:
    '{wallet} does not have the {network} network. Add it there, or use the QR code or the address.',
  wallet_silent:
    '{wallet} did not answer as expected. Nothing was sent; you can use the QR code or the address.',
  wallet_failed:
    '{wallet} reported a problem. Please look there whether something was sent before you try again.',
  amount_label: 'Amount',
  address_label: '{network} address',
  network_label: 'Network',
  copy: 'Copy',
  copy_amount: 'Copy amount',
  copy_address: 'Copy address',
  copied: 'Copied',

  total: 'Total',
  received: 'Received',
  paid_at: 'Paid',
  transaction: 'Transaction',
  payment_detected: 'Detected',
  payment_confirming: 'Confirming, {reached} of {required}',
  payment_finalising: 'Confirming',
  payment_confirmed: 'Confirmed',
  payment_review: 'Waits for review',

  receipt_heading: 'Receipt',
  receipt_number: 'Payment number',
  receipt_address: 'Address',
  receipt_block: 'Block',
  receipt_price: 'Price',
  receipt_signed: 'Signed receipt (JSON)',
  receipt_signed_lead: 'This file carries a signature: anyone can check it later without asking anybody.',
  receipt_back: 'Back to the payment',
  shop_back: 'Back to {merchant}',

  why_heading: 'What was checked',
  why_read: 'The {network} network was read until {time}, and no payment to this address was found.',
  why_block: 'Last block read',
  why_provider: 'Read from',

  open_heading: 'Choose how to pay',
  open_coin: 'Coin',
  open_network: 'on {network}',
  open_lock: 'The price is locked for {duration} once you continue.',
  open_continue: 'Continue',
  open_none: 'No coin can be used right now. Please try again in a few minutes.',
  open_coin_failed: 'That coin cannot be used right now. Please choose another one.',
  open_choose: 'Please choose a coin first.',
  unavailable: 'Not available right now',
  unavailable_price: 'No current price',
  unavailable_minimum: 'The total is too small for this coin',
  bad_amount_title: 'This amount cannot be paid',
  bad_amount_lead:
    'The amount in this link is not one that can be paid here. Please go back to the shop and start again.',

  switch_heading: 'Pay with another coin',
  switch_lead: 'You get a new address at the current price. The time to pay stays the same.',
  switch_action: 'Change coin',
  switch_refused: 'The coin cannot be changed any more.',

  card_action: 'Pay by card',
  card_hint: 'A card provider sells you {symbol} and sends it here. You need no wallet.',
  card_lead:
    'A provider takes your card, sells you {amount} on the {network} network, and sends it straight to {merchant}. It charges a fee of its own and may ask who you are.',
  card_place: 'Where do you live?',
  card_place_choose: 'Please choose',
  card_choose: 'Please choose where you live.',
  card_ask: 'Show offers',
  card_offers: 'Offers',
  card_asking: 'Being asked…',
  card_sends: 'Sends {amount}',
  card_total: 'You pay {total}',
  card_fees: 'Of that, fees: {fees}',
  card_no_quote: 'You see price and fees there, before you pay.',
  card_minimum: 'Smallest purchase: {minimum}',
  card_refused: 'Does not sell this.',
  card_refused_region: 'Does not sell where you live.',
  card_refused_minimum: 'This payment is too small.',
  card_refused_maximum: 'This payment is too large.',
  card_failed: 'Does not answer just now.',
  card_none: 'Nobody takes a card for this payment just now. You can pay with a wallet.',
  card_lapsed: 'That offer is over. Please ask for a new one.',
  card_leave: 'Continue to {provider}',
  card_leaving: 'Taking you to {provider}',
  card_waiting_heading: 'Waiting for {provider}',
  card_waiting_lead:
    '{provider} sends {symbol} once your card has been charged; that can take some minutes. {merchant} is paid when the network has it. You can close this page.',
  card_pending_lead:
    '{provider} has your card payment and is about to send {symbol}. You can close this page.',
  card_completed_lead:
    '{provider} says that it has sent your payment. The {network} network has not shown it yet. You can close this page.',
  card_declined:
    '{provider} says that your card payment did not go through. You can try again, or pay another way.',
  card_abandoned:
    '{provider} knows of no payment of yours yet. If you did not finish there, you can start again, or pay another way.',
  card_again: 'Start again with a card',
  card_other: 'Pay another way',
  sandbox_card_heading: 'Test card',
  sandbox_card_lead:
    'In test mode this page takes the place of a card provider’s. Only the numbers below work; never type a real one.',
  sandbox_card_number: 'Card number',
  sandbox_card_pay: 'Pay {total}',
  sandbox_card_numbers: 'Test numbers',
  sandbox_card_approved: 'Approved',
  sandbox_card_declined: 'Declined',
  sandbox_card_abandoned: 'Comes back without paying',
  sandbox_card_slow: 'Approved, and sent 10 seconds later',
  sandbox_card_under: 'Approved, but sends only 40%',
  sandbox_card_wrong: 'That is none of the test numbers.',
  sandbox_card_refused: 'The card was declined. You can try another number.',
  sandbox_heading: 'Sandbox: play the buyer',
  sandbox_lead: 'Pays this invoice on the sandbox chain, through the same path as a real payment.',
  sandbox_exact: 'Pay exactly',
  sandbox_under: 'Pay 40%',
  sandbox_over: 'Pay 160%',
  sandbox_late: 'Pay late',
  sandbox_two_parts: 'Pay in two parts',
  sandbox_double_spend: 'Double-spend',
  sandbox_reorg: 'Pay, then reorganise',
  sandbox_failed: 'The sandbox could not do that. Its chain may still be starting: try again.',

  missing_title: 'Nothing to pay here',
  missing_lead:
    'This link does not open a payment, or its time is over. Please go back to the shop and start again.',
  problem_title: 'That did not work',
  problem_lead:
    'Something went wrong on our side. Your payment, if you made one, is safe. This page tries again by itself.',
  busy_title: 'One moment, please',
  busy_lead: 'Too much was sent from here at once. Please wait a few seconds, go back and try again.',
  refused_title: 'That was not understood',
  refused_lead: 'Please go back and try again.',
} as const

/** What every translation has to say: `npm run check` fails where one word is missing. */
export type Messages = {
  readonly [key in keyof typeof en]: (typeof en)[key] extends string ? string : Plural
}
