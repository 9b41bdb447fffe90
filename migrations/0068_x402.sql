-- Payments by x402: a transfer of USDC that its holder signed (EIP-3009), and that the hot wallet carries to the chain.

create table x402_authorization (
  merchant_id text not null,
  id text not null collate "C",
  livemode boolean not null,
  invoice_id text not null collate "C",
  network text not null,
  -- What was signed; the recipient is the invoice's own address, account/0/key_index.
  payer bytea not null check (octet_length(payer) = 20),
  recipient bytea not null check (octet_length(recipient) = 20),
  key_index bigint not null check (key_index >= 0),
  value numeric(78, 0) not null check (value > 0),
  valid_after numeric(78, 0) not null,
  valid_before numeric(78, 0) not null,
  nonce bytea not null check (octet_length(nonce) = 32),
  signature bytea not null check (octet_length(signature) = 65),
  -- `waiting`: nobody has tried it yet. `checked`: a node says that it would go through. `settled`: in a block.
  -- `refused`: it never pays by us.
  status text not null check (status in ('waiting', 'checked', 'settled', 'refused')),
  reason text,
  txid text,
  created_at timestamptz not null,
  -- Since when nobody looks after it any more.
  done_at timestamptz,
  primary key (merchant_id, id),
  foreign key (merchant_id, invoice_id) references invoice (merchant_id, id),
  check ((status = 'refused') = (reason is not null)),
  check (status <> 'settled' or txid is not null)
);
-- The same signed words make one payment, however often they are sent.
create unique index x402_authorization_by_nonce on x402_authorization (merchant_id, invoice_id, payer, nonce);
-- An invoice is paid by one at a time.
create unique index x402_authorization_one on x402_authorization (merchant_id, invoice_id) where status <> 'refused';
create index x402_authorization_under_way on x402_authorization (network, id) where done_at is null;

-- Signed transactions of the hot wallet, written by the signer alone; all of one have one nonce.
create table x402_transaction (
  merchant_id text not null,
  authorization_id text not null collate "C",
  number integer not null check (number > 0),
  livemode boolean not null,
  network text not null,
  txid text not null,
  raw bytea not null,
  created_at timestamptz not null,
  primary key (merchant_id, authorization_id, number),
  foreign key (merchant_id, authorization_id) references x402_authorization (merchant_id, id)
);
create index x402_transaction_by_time on x402_transaction (network, created_at);

grant select, insert on x402_authorization to paylink_api;
grant select on x402_authorization, x402_transaction to paylink_watcher;
grant update (status, reason, txid, done_at) on x402_authorization to paylink_watcher;
grant select on x402_authorization to paylink_signer;
grant select, insert on x402_transaction to paylink_signer;

do $$
declare
  tenant_table text;
begin
  foreach tenant_table in array array['x402_authorization', 'x402_transaction'] loop
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
