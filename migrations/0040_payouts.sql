-- Money out: destinations that a merchant has allowed, payouts, who approved what, and the transactions that carry them.

create table payout_destination (
  merchant_id text not null references merchant (id),
  id text not null collate "C",
  livemode boolean not null,
  asset text not null,
  -- Canonical form: whatever two texts name the same account are one address.
  address text not null,
  name text not null,
  -- API key or person.
  created_by text not null,
  created_at timestamptz not null,
  -- Until then no payout may go there.
  usable_at timestamptz not null,
  removed_at timestamptz,
  primary key (merchant_id, id)
);
create unique index payout_destination_once on payout_destination (merchant_id, livemode, asset, address)
  where removed_at is null;
create index payout_destination_by_mode on payout_destination (merchant_id, livemode, id);

create table payout (
  merchant_id text not null references merchant (id),
  id text not null collate "C",
  livemode boolean not null,
  status text not null check (status in ('requested', 'approved', 'submitted', 'confirmed', 'rejected', 'failed')),
  asset text not null,
  network text not null,
  -- Base units. The fee is taken from the amount; until a transaction is signed it is an estimate.
  amount numeric(78, 0) not null check (amount > 0),
  network_fee numeric(78, 0) not null check (network_fee >= 0 and network_fee < amount),
  -- What the fee may become at most: approved with the rest.
  network_fee_max numeric(78, 0) not null check (network_fee_max >= network_fee and network_fee_max < amount),
  destination_id text not null collate "C",
  destination text not null,
  requested_by text not null,
  approved_by text,
  rejected_by text,
  txid text,
  failure_code text,
  created_at timestamptz not null,
  approved_at timestamptz,
  rejected_at timestamptz,
  submitted_at timestamptz,
  confirmed_at timestamptz,
  failed_at timestamptz,
  event_count integer not null default 0,
  primary key (merchant_id, id),
  foreign key (merchant_id, destination_id) references payout_destination (merchant_id, id)
);
create index payout_by_mode on payout (merchant_id, livemode, id);
-- What the signer and the watcher look after.
create index payout_under_way on payout (network, id) where status in ('approved', 'submitted');
-- The sum of a day, for the merchant's limit.
create index payout_of_a_day on payout (merchant_id, livemode, asset, created_at);

-- Written once: who approved a payout, and the digest of exactly what, signed by the API's own key, so that what
-- changes in the database afterwards, this table included, is no longer what was approved.
create table payout_approval (
  merchant_id text not null,
  payout_id text not null collate "C",
  livemode boolean not null,
  approver text not null,
  digest bytea not null check (octet_length(digest) = 32),
  signature bytea not null check (octet_length(signature) = 64),
  created_at timestamptz not null,
  primary key (merchant_id, payout_id),
  foreign key (merchant_id, payout_id) references payout (merchant_id, id)
);

-- The public key of that signature. The signer keeps the first that it meets in its own folder. One row.
create table payout_approval_key (
  id boolean primary key default true check (id),
  public_key bytea not null check (octet_length(public_key) = 32),
  created_at timestamptz not null
);

-- Signed transactions of a payout, written by the signer alone. All of one payout spend a common input, so that no
-- two of them can both happen.
create table payout_transaction (
  merchant_id text not null,
  payout_id text not null collate "C",
  -- 1, 2, 3…: the second and later ones replace the one before for a higher fee.
  number integer not null check (number > 0),
  livemode boolean not null,
  network text not null,
  txid text not null,
  raw bytea not null,
  network_fee numeric(78, 0) not null,
  created_at timestamptz not null,
  primary key (merchant_id, payout_id, number),
  foreign key (merchant_id, payout_id) references payout (merchant_id, id)
);
create unique index payout_transaction_by_txid on payout_transaction (network, txid);

-- Coins that payouts spend. A coin belongs to one payout at most.
create table payout_input (
  merchant_id text not null,
  network text not null,
  txid text not null,
  output_index integer not null,
  livemode boolean not null,
  payout_id text not null collate "C",
  primary key (merchant_id, network, txid, output_index),
  foreign key (merchant_id, payout_id) references payout (merchant_id, id)
);
create index payout_input_by_payout on payout_input (merchant_id, payout_id);

-- Change that came back to an address of the signer's own; spendable once its payout is confirmed by that transaction.
create table payout_change (
  merchant_id text not null,
  network text not null,
  txid text not null,
  output_index integer not null,
  livemode boolean not null,
  payout_id text not null collate "C",
  amount numeric(78, 0) not null check (amount > 0),
  -- Of the account's change chain: account/1/index.
  change_index bigint not null,
  primary key (merchant_id, network, txid, output_index),
  foreign key (merchant_id, payout_id) references payout (merchant_id, id)
);
create index payout_change_by_network on payout_change (merchant_id, livemode, network);

-- Why the signer will not sign a payout. The watcher ends it and gives the money back.
create table payout_refusal (
  merchant_id text not null,
  payout_id text not null collate "C",
  livemode boolean not null,
  code text not null,
  created_at timestamptz not null,
  primary key (merchant_id, payout_id),
  foreign key (merchant_id, payout_id) references payout (merchant_id, id)
);

-- What a virtual byte costs on a network now, in thousandths of a base unit; written by its watcher.
create table network_fee (
  network text primary key,
  milli_per_vbyte bigint not null check (milli_per_vbyte > 0),
  updated_at timestamptz not null
);

grant select, insert, update on payout_destination to paylink_api;
grant select, insert on payout, payout_approval, payout_approval_key to paylink_api;
grant update (status, approved_by, rejected_by, approved_at, rejected_at, event_count) on payout to paylink_api;
grant select on payout_transaction, payout_input, payout_change, network_fee to paylink_api;

grant select on payout_destination, payout_approval, payout_transaction, payout_refusal, payout_change to paylink_watcher;
grant select, update on payout to paylink_watcher;
grant select, delete on payout_input to paylink_watcher;
grant select, insert, update on network_fee to paylink_watcher;

grant select on payout, payout_approval, payout_approval_key, network_fee, transfer, deposit_address, network_state
  to paylink_signer;
grant select, insert on payout_transaction, payout_input, payout_change, payout_refusal to paylink_signer;

do $$
declare
  tenant_table text;
begin
  foreach tenant_table in array array[
    'payout_destination', 'payout', 'payout_approval', 'payout_transaction', 'payout_input', 'payout_change',
    'payout_refusal'
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
-- The signer reads which coins there are; it changes none of these.
create policy signer_reads on transfer for select to paylink_signer using (true);
create policy signer_reads on deposit_address for select to paylink_signer using (true);

alter table ledger_transfer add column payout_id text;
