-- What was paid out of a deposit that the chain took back afterwards stands in an account of its own, the only one
-- beside the outside that may be below zero, and never above it. The available balance therefore never is.
alter table ledger_entry drop constraint ledger_entry_account_check;
alter table ledger_entry add constraint ledger_entry_account_check
  check (account in ('chain', 'pending', 'suspense', 'available', 'reserved', 'shortfall'));
alter table ledger_balance drop constraint ledger_balance_check;
alter table ledger_balance add constraint ledger_balance_check
  check (case account when 'chain' then true when 'shortfall' then balance <= 0 else balance >= 0 end);

-- For the alarm: the few that owe.
create index ledger_balance_short on ledger_balance (livemode) where account = 'shortfall' and balance < 0;
