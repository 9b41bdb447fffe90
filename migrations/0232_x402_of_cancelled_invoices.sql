-- What a payer signed for an invoice that is cancelled, and nothing was signed to carry, is refused in the same transaction.
grant update (status, reason, done_at) on x402_authorization to paylink_api;
grant select on x402_transaction to paylink_api;
