import type { ErrorEntry } from './error-types.ts'

/**
 * Every error code of the API. The codes are a promise: one is added, never renamed. `docs/errors.md` and the
 * OpenAPI document are checked against this list.
 */
export const ERRORS = {
  body_invalid: {
    status: 400,
    type: 'invalid_request_error',
    message: 'The request body must be one JSON object in UTF-8.',
  },
  parameter_missing: {
    status: 400,
    type: 'invalid_request_error',
    message: 'A required parameter is missing.',
  },
  parameter_invalid: {
    status: 400,
    type: 'invalid_request_error',
    message: 'A parameter has a value that is not accepted.',
  },
  parameter_unknown: {
    status: 400,
    type: 'invalid_request_error',
    message: 'There is no such parameter on this route.',
  },
  parameter_duplicate: {
    status: 400,
    type: 'invalid_request_error',
    message: 'A parameter was given more than once.',
  },
  idempotency_key_invalid: {
    status: 400,
    type: 'idempotency_error',
    message: 'The Idempotency-Key header must have 1 to 255 printable ASCII characters.',
  },
  amount_too_small: {
    status: 400,
    type: 'invalid_request_error',
    message: 'The amount is below the minimum: 0.50 US dollars, or that of the asset in GET /api/v1/assets.',
  },
  amount_too_large: {
    status: 400,
    type: 'invalid_request_error',
    message: 'The amount is above the maximum for an invoice.',
  },
  asset_not_accepted: {
    status: 400,
    type: 'invalid_request_error',
    message: 'This asset is not among the accepted coins. Enable it under Settings, Accepted coins.',
  },
  payout_too_small: {
    status: 400,
    type: 'invalid_request_error',
    message: 'The amount is too small to be paid out at current fees.',
  },
  destination_address_invalid: {
    status: 400,
    type: 'invalid_request_error',
    message: 'This is not an address that can be paid on the network of this asset and mode.',
  },
  destination_lookalike: {
    status: 400,
    type: 'invalid_request_error',
    message:
      'This address begins and ends like one you used before, but is a different one. Compare them character by character.',
  },
  endpoint_url_refused: {
    status: 400,
    type: 'invalid_request_error',
    message: 'Events cannot be sent to this URL.',
  },
  event_type_unknown: {
    status: 400,
    type: 'invalid_request_error',
    message: 'There is no such event type.',
  },
  event_type_not_selectable: {
    status: 400,
    type: 'invalid_request_error',
    message: 'This event type cannot be subscribed to.',
  },
  dynamic_amount_not_allowed: {
    status: 400,
    type: 'invalid_request_error',
    message:
      'This payment link has a fixed amount. Create a link with allow_dynamic_amount for checkout sessions.',
  },
  api_key_missing: {
    status: 401,
    type: 'authentication_error',
    message: 'Send an API key in the header: Authorization: Bearer sk_test_…',
  },
  api_key_invalid: {
    status: 401,
    type: 'authentication_error',
    message: 'This API key is unknown or was revoked.',
  },
  scope_missing: {
    status: 403,
    type: 'permission_error',
    message: 'The API key lacks the scope that this route needs.',
  },
  dashboard_session_required: {
    status: 403,
    type: 'permission_error',
    message: 'This needs a dashboard session of an owner or admin; an API key may not do it.',
  },
  approver_is_requester: {
    status: 403,
    type: 'permission_error',
    message: 'Whoever requested a payout cannot approve it; another owner or admin must.',
  },
  role_insufficient: {
    status: 403,
    type: 'permission_error',
    message: 'Your role in this organization does not allow this. Ask an owner or admin.',
  },
  approval_evidence_required: {
    status: 403,
    type: 'permission_error',
    message: 'Approve live payouts in the dashboard, with a passkey or authenticator code.',
  },
  approval_evidence_invalid: {
    status: 403,
    type: 'permission_error',
    message: 'This passkey or code does not approve this payout. Open the payout again, then approve it.',
  },
  approver_not_ready: {
    status: 409,
    type: 'conflict_error',
    message: 'A new credential or approver can approve live payouts after 24 hours.',
  },
  second_factor_required: {
    status: 403,
    type: 'permission_error',
    message: 'Prove your second factor again, then repeat this: the last proof is older than five minutes.',
  },
  cross_origin_refused: {
    status: 403,
    type: 'permission_error',
    message: 'A dashboard session can make changes only from the dashboard itself.',
  },
  test_mode_only: {
    status: 403,
    type: 'permission_error',
    message: 'This route exists for test keys only.',
  },
  not_found: {
    status: 404,
    type: 'not_found_error',
    message: 'Nothing with this id exists in the mode of the API key.',
  },
  path_not_found: {
    status: 404,
    type: 'not_found_error',
    message: 'There is no such path. The routes are listed at /docs.',
  },
  method_not_allowed: {
    status: 405,
    type: 'invalid_request_error',
    message: 'This path exists, but not for this method; see the Allow header.',
  },
  invoice_not_cancellable: {
    status: 409,
    type: 'conflict_error',
    message: 'Only an invoice that awaits payment or has expired can be cancelled.',
  },
  invoice_not_resolvable: {
    status: 409,
    type: 'conflict_error',
    message: 'This invoice has nothing that this resolution could decide.',
  },
  order_reference_conflict: {
    status: 409,
    type: 'conflict_error',
    message:
      'This order reference has a checkout session with another link, amount, duration or mode. Use a new order reference.',
  },
  payment_link_inactive: {
    status: 409,
    type: 'conflict_error',
    message: 'This payment link is not active. Activate it, or use another.',
  },
  checkout_session_not_cancellable: {
    status: 409,
    type: 'conflict_error',
    message: 'A checkout session that was cancelled, or has received money, cannot be cancelled.',
  },
  sandbox_not_available: {
    status: 409,
    type: 'conflict_error',
    message:
      'The network of this invoice has a node of its own, or no sandbox chain exists for it: pay it with a wallet.',
  },
  endpoint_limit_reached: {
    status: 409,
    type: 'conflict_error',
    message: 'There are 20 webhook endpoints in this mode already. Remove one first.',
  },
  endpoint_not_eligible: {
    status: 409,
    type: 'conflict_error',
    message: 'This webhook endpoint is not verified and enabled. Verify it first.',
  },
  rotation_loses_events: {
    status: 409,
    type: 'conflict_error',
    message:
      'This receiver answers 2xx to events that it refuses, too: what a new secret signs would be lost. Remove the endpoint, and add it again with a new secret.',
  },
  rotation_in_progress: {
    status: 409,
    type: 'conflict_error',
    message:
      'A rotation of this secret is in progress, or its overlap still lasts. Wait for its end, or end every older secret with grace_seconds 0.',
  },
  open_invoice_limit_reached: {
    status: 409,
    type: 'conflict_error',
    message:
      'There are as many unpaid open invoices in this mode as this installation allows. Cancel some, or wait until they expire.',
  },
  deposit_address_limit_reached: {
    status: 409,
    type: 'conflict_error',
    message: 'As many customers have permanent addresses in this mode as this installation allows.',
  },
  api_key_limit_reached: {
    status: 409,
    type: 'conflict_error',
    message: 'There are 100 active API keys in this mode already. Revoke one first.',
  },
  destination_exists: {
    status: 409,
    type: 'conflict_error',
    message: 'This address is on the list of payout destinations already.',
  },
  destination_limit_reached: {
    status: 409,
    type: 'conflict_error',
    message: 'There are 100 payout destinations in this mode already. Remove one first.',
  },
  destination_not_usable: {
    status: 409,
    type: 'conflict_error',
    message:
      'This destination cannot be used: it was removed, or it is less than a day old. usable_at says when it can be used.',
  },
  balance_insufficient: {
    status: 409,
    type: 'conflict_error',
    message: 'The available balance in this asset is less than the amount.',
  },
  payout_limit_exceeded: {
    status: 409,
    type: 'conflict_error',
    message:
      'This payout would exceed the daily limit of its asset, set under Payment rules, on what may be requested and approved in 24 hours. Wait, or request less.',
  },
  payout_not_open: {
    status: 409,
    type: 'conflict_error',
    message: 'This payout has already been decided.',
  },
  idempotency_key_in_use: {
    status: 409,
    type: 'idempotency_error',
    message: 'A request with this Idempotency-Key is in progress. Send it again in a moment.',
  },
  body_too_large: {
    status: 413,
    type: 'invalid_request_error',
    message: 'The request body must be at most 64 KiB.',
  },
  unsupported_media_type: {
    status: 415,
    type: 'invalid_request_error',
    message: 'Send the request body with the header content-type: application/json.',
  },
  idempotency_key_reused: {
    status: 422,
    type: 'idempotency_error',
    message: 'This Idempotency-Key was used for a different request.',
  },
  endpoint_verification_failed: {
    status: 422,
    type: 'invalid_request_error',
    message: 'The endpoint could not be verified; reason says why. Fix it and verify again.',
  },
  cell_wrong: {
    status: 421,
    type: 'invalid_request_error',
    message:
      'This is of another cell of this installation: the header paylink-cell says which. The proxy that leads there is set up wrong, or the merchant has just moved there.',
  },
  rate_limited: {
    status: 429,
    type: 'rate_limit_error',
    message: 'Too many requests of this merchant in this mode. Wait as long as the Retry-After header says.',
  },
  internal_error: {
    status: 500,
    type: 'api_error',
    message:
      'Something went wrong on our side. Whoever runs this server finds the cause in its log by the request id.',
  },
  rate_unavailable: {
    status: 503,
    type: 'api_error',
    message:
      'There is no trustworthy price for this asset or currency at the moment. Try again soon or use another one.',
  },
  asset_unavailable: {
    status: 503,
    type: 'api_error',
    message: 'Invoices in this asset cannot be created at the moment. GET /api/v1/assets says why.',
  },
  address_unverified: {
    status: 503,
    type: 'api_error',
    message:
      'The address of an invoice is not one that the signer of this installation signed for it, so nothing is shown. Whoever operates it finds the invoice in the log and with the command paylink audit.',
  },
  payout_unavailable: {
    status: 503,
    type: 'api_error',
    message:
      'Payouts in this asset are not possible at the moment: this installation cannot send them, or the fee of the network is not known. Try again soon.',
  },
  service_unavailable: {
    status: 503,
    type: 'api_error',
    message: 'The service cannot reach its database at the moment. Try again soon.',
  },
} as const satisfies { readonly [code: string]: ErrorEntry }

export type ErrorCode = keyof typeof ERRORS
export const ERROR_CODES = Object.keys(ERRORS) as ErrorCode[]
