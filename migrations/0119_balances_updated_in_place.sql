-- A balance is rewritten by every posting, and an index whose condition reads it has PostgreSQL write each new version of
-- the row into every index of the table. No index reads it any more: new versions stay on their page, beside the old ones.
-- There is a row for each account of a merchant, so that postings wait here for a moment.
drop index ledger_balance_short;
drop index ledger_balance_fees;
create index ledger_balance_outside on ledger_balance (account, livemode, asset, merchant_id)
  where account in ('shortfall', 'fees', 'fees_reserved');
