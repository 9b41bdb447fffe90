-- What the data of a plain transfer takes on the chain below, in gas, where a network charges for it so. Null: as 0.
alter table hot_wallet add column data_gas numeric(78, 0)
  constraint hot_wallet_data_gas check (data_gas >= 0 and data_gas <> 'NaN');
grant update (data_gas) on hot_wallet to paylink_watcher;
