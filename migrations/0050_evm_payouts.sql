-- Money out on chains of accounts: a hot wallet for each network, what is swept into it, and which nonce belongs to what.

-- How a network's hot wallet stands at the newest block and what the network takes; written by its watcher, from whom
-- requests and the signer know it. Wei, but for the token's own units.
create table hot_wallet (
  network text primary key,
  address bytea not null check (octet_length(address) = 20),
  chain_id bigint not null check (chain_id > 0),
  height bigint not null,
  -- Transactions that it has in blocks.
  nonce bigint not null check (nonce >= 0),
  balance numeric(78, 0) not null check (balance >= 0),
  base_fee numeric(78, 0) not null check (base_fee >= 0),
  tip numeric(78, 0) not null check (tip >= 0),
  -- Base: what a transaction pays at most for its place on Ethereum.
  l1_fee numeric(78, 0) not null check (l1_fee >= 0),
  -- USDC there, and the words of its EIP-712 domain; null where there is none.
  token_contract bytea check (octet_length(token_contract) = 20),
  token_name text,
  token_version text,
  token_balance numeric(78, 0) check (token_balance >= 0),
  updated_at timestamptz not null
);

-- What leaves a deposit address for the hot wallet, for the sake of a payout of the same merchant.
create table sweep (
  merchant_id text not null,
  id text not null collate "C",
  livemode boolean not null,
  payout_id text not null collate "C",
  network text not null,
  asset text not null,
  address bytea not null check (octet_length(address) = 20),
  -- Of the account's receiving chain: account/0/index.
  key_index bigint not null check (key_index >= 0),
  -- What its deposits are worth. Native coin pays its own fee out of it; a token arrives whole.
  amount numeric(78, 0) not null check (amount > 0),
  -- The deposit address's own next nonce, where it sends by itself; null where the hot wallet fetches a token.
  nonce bigint check (nonce >= 0),
  -- `done`: in a block. `failed`: it can never happen.
  status text not null check (status in ('planned', 'done', 'failed')),
  -- What it took of the amount, by the transaction in the block.
  cost numeric(78, 0) check (cost >= 0 and cost < amount),
  txid text,
  created_at timestamptz not null,
  -- Since when it lies so deep that nobody looks after it any more.
  final_at timestamptz,
  primary key (merchant_id, id),
  foreign key (merchant_id, payout_id) references payout (merchant_id, id),
  check ((status = 'done') = (txid is not null and cost is not null))
);
create index sweep_by_payout on sweep (merchant_id, payout_id);
create index sweep_under_way on sweep (network, id) where final_at is null;
create index sweep_by_asset on sweep (network, asset, merchant_id, livemode);

-- Deposits of a sweep. A deposit is swept once.
create table sweep_transfer (
  merchant_id text not null,
  transfer_id text not null collate "C",
  livemode boolean not null,
  sweep_id text not null collate "C",
  primary key (merchant_id, transfer_id),
  foreign key (merchant_id, sweep_id) references sweep (merchant_id, id)
);
create index sweep_transfer_by_sweep on sweep_transfer (merchant_id, sweep_id);

-- Signed transactions of a sweep, written by the signer alone; all of one have one nonce, so that one can happen.
create table sweep_transaction (
  merchant_id text not null,
  sweep_id text not null collate "C",
  number integer not null check (number > 0),
  livemode boolean not null,
  network text not null,
  txid text not null,
  raw bytea not null,
  cost numeric(78, 0) not null check (cost >= 0),
  created_at timestamptz not null,
  primary key (merchant_id, sweep_id, number),
  foreign key (merchant_id, sweep_id) references sweep (merchant_id, id)
);
create unique index sweep_transaction_by_txid on sweep_transaction (network, txid);

-- A nonce of an account belongs to one payout or one sweep: whatever is signed for it conflicts with all else that is.
create table account_nonce (
  network text not null,
  sender bytea not null check (octet_length(sender) = 20),
  nonce bigint not null check (nonce >= 0),
  merchant_id text not null,
  livemode boolean not null,
  -- Payout or sweep.
  intent_id text not null collate "C",
  primary key (network, sender, nonce)
);
create unique index account_nonce_by_intent on account_nonce (merchant_id, intent_id);

-- How much gas a destination takes that has code; 0 where it takes no payment at all.
create table payout_gas (
  merchant_id text not null,
  payout_id text not null collate "C",
  livemode boolean not null,
  gas bigint not null check (gas >= 0),
  primary key (merchant_id, payout_id),
  foreign key (merchant_id, payout_id) references payout (merchant_id, id)
);

grant select on hot_wallet, sweep, sweep_transfer to paylink_api;

grant select, insert, update on hot_wallet to paylink_watcher;
grant select, insert on sweep, sweep_transfer, payout_gas to paylink_watcher;
grant update (payout_id, status, cost, txid, final_at) on sweep to paylink_watcher;
grant select on sweep_transaction, account_nonce to paylink_watcher;

grant select on hot_wallet, sweep, sweep_transfer, payout_gas to paylink_signer;
grant select, insert on sweep_transaction, account_nonce to paylink_signer;

do $$
declare
  tenant_table text;
begin
  foreach tenant_table in array array[
    'sweep', 'sweep_transfer', 'sweep_transaction', 'account_nonce', 'payout_gas'
  ] loop
    execute format('alter table %I enable row level security', tenant_table);
    execute format('alter table %I force row level security', tenant_table);
    execute format('create policy owner_all on %I to current_user using (true) with check (true)', tenant_table);
    execute format(
      'create policy workers_all on %I to paylink_watcher, paylink_signer using (true) with check (true)',
      tenant_table
    );
    execute format(
      'create policy api_one_tenant on %I to paylink_api
         using (merchant_id = current_setting(''paylink.merchant_id'', true)
                and livemode = (current_setting(''paylink.livemode'', true) = ''true''))
         with check (merchant_id = current_setting(''paylink.merchant_id'', true)
                and livemode = (current_setting(''paylink.livemode'', true) = ''true''))',
      tenant_table
    );
  end loop;
end
$$;
