-- What a plain payment to a new account takes, in gas: no longer the same everywhere, nor for ever. Null: as any other.
alter table hot_wallet add column new_account_gas numeric(78, 0)
  constraint hot_wallet_new_account_gas check (new_account_gas > 0 and new_account_gas <> 'NaN');
grant update (new_account_gas) on hot_wallet to paylink_watcher;
