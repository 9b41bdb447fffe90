-- What a merchant has decided of and stands in suspense all the same: coins in which no payout is made. A later release may
-- make payouts in one of them, and finds its payments by this index, which holds next to nothing.
create index transfer_decided_in_suspense on transfer (asset, merchant_id, livemode, invoice_id)
  where ledger_bucket = 'suspense' and resolution is not null;
