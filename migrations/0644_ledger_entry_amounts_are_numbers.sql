-- NaN is above every other number, so that a check for more than 0 lets it in; one row of it stops whoever reads many.
alter table ledger_entry add constraint ledger_entry_amounts_are_numbers check (balance_after <> 'NaN') not valid;
