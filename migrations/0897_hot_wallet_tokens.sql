-- What a network's hot wallet holds of each token, as its watcher read it with the wallet; those of another time are not there
-- any more. The columns for one token in hot_wallet are for the release before.
create table hot_wallet_token (
  network text not null,
  asset text not null,
  contract bytea not null check (octet_length(contract) = 20),
  -- Words of its EIP-712 domain; null where it has none.
  name text,
  version text,
  balance numeric(78, 0) not null check (balance >= 0 and balance <> 'NaN'),
  updated_at timestamptz not null,
  primary key (network, asset),
  check ((name is null) = (version is null))
);

insert into hot_wallet_token (network, asset, contract, name, version, balance, updated_at)
  select network, case split_part(network, '-', 1) when 'base' then 'USDC_BASE' else 'USDC_ETHEREUM' end, token_contract,
    token_name, token_version, token_balance, updated_at
  from hot_wallet where token_contract is not null and token_name is not null and token_version is not null
    and token_balance is not null;

grant select on hot_wallet_token to paylink_api, paylink_signer;
grant select, insert on hot_wallet_token to paylink_watcher;
grant update (contract, name, version, balance, updated_at) on hot_wallet_token to paylink_watcher;
