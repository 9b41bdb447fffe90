-- What 0101 and 0109 check of new rows holds for the old ones. Reading and writing go on beside this.
alter table payout validate constraint payout_source_check;
alter table payout validate constraint payout_fee_destination_id_fkey;
alter table payout validate constraint payout_destination_of_its_owner;
alter table ledger_entry validate constraint ledger_entry_account_check;
alter table ledger_entry validate constraint ledger_entry_in_statement;

-- A payment that the chain takes back gives its fee back, also where the fee has left since: the operator owes it then.
-- Postings wait from here on; there is a row for each account of a merchant, and not for each posting.
alter table ledger_balance drop constraint ledger_balance_check;
alter table ledger_balance add constraint ledger_balance_check check
  (case when account in ('chain', 'fees') then true when account = 'shortfall' then balance <= 0 else balance >= 0 end);
drop index ledger_balance_short;
create index ledger_balance_short on ledger_balance (livemode) where account in ('shortfall', 'fees') and balance < 0;
-- For the operator: where there is something to send. A database that was migrated before 0.1.0 may have it.
create index if not exists ledger_balance_fees on ledger_balance (livemode, asset, merchant_id)
  where account = 'fees' and balance > 0;
