-- The account `fees_reserved` (0101), which stands outside of the merchant's statement as the fees do. Every posting waits
-- while this holds the entries, and it holds nothing else and looks through nothing: 0110 does.
alter table ledger_entry drop constraint ledger_entry_account_check;
alter table ledger_entry add constraint ledger_entry_account_check check
  (account in ('chain', 'fees', 'fees_reserved', 'pending', 'suspense', 'available', 'reserved', 'shortfall')) not valid;
alter table ledger_entry drop constraint ledger_entry_in_statement;
alter table ledger_entry add constraint ledger_entry_in_statement check
  ((account in ('chain', 'fees', 'fees_reserved')) = (position is null) and (position is null) = (balance_after is null))
  not valid;
