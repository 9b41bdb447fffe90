-- Merchants, their keys, their invoices, and the transfers that pay them.
--
-- Every tenant table has the key (merchant_id, id), foreign keys carry merchant_id, and no sequence is used,
-- so that the tables can be distributed by merchant. Every tenant table has livemode. Money is numeric(78,0)
-- in base units beside its asset.

create table merchant (
  id text primary key,
  name text not null,
  email text not null,
  created_at timestamptz not null
);

-- One document of payment rules for each merchant and mode; absent means the defaults of core/payment-rules.
create table payment_rules (
  merchant_id text not null references merchant (id),
  livemode boolean not null,
  rules jsonb not null,
  updated_at timestamptz not null,
  primary key (merchant_id, livemode)
);

create table api_key (
  merchant_id text not null references merchant (id),
  id text not null,
  livemode boolean not null,
  -- SHA-256 of the whole key; the key itself is shown once and never stored.
  key_hash bytea not null unique,
  scopes text[] not null,
  created_at timestamptz not null,
  revoked_at timestamptz,
  primary key (merchant_id, id)
);

create table invoice (
  merchant_id text not null references merchant (id),
  id text not null collate "C",
  livemode boolean not null,
  -- Derived from the facts by core/invoice; stored for filtering and for guarded updates.
  status text not null,
  asset text not null,
  amount numeric(78, 0) not null check (amount > 0),
  usd_cents numeric(78, 0) check (usd_cents > 0),
  amount_source text not null check (amount_source in ('merchant', 'buyer')),
  -- json, not jsonb: evidence and metadata are given back exactly as they came.
  rate json,
  tolerance_under numeric(78, 0) not null default 0,
  tolerance_over numeric(78, 0) not null default 0,
  confirmations jsonb not null,
  allow_asset_selection boolean not null,
  customer_email text,
  external_reference text,
  order_reference text,
  checkout_session_id text,
  payment_link_id text,
  metadata json,
  reopened_from text,
  address text not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  expired_at timestamptz,
  cancelled_at timestamptz,
  paid_at timestamptz,
  accepted_at timestamptz,
  reorg_dismissed boolean not null default false,
  announced jsonb not null,
  -- The number of events this invoice has had; the next one's sequence is one more.
  event_count integer not null default 0,
  primary key (merchant_id, id)
);

-- Lists, newest first, in one mode; ids sort by time.
create index invoice_by_mode on invoice (merchant_id, livemode, id);
create index invoice_by_external_reference on invoice (merchant_id, livemode, external_reference, id)
  where external_reference is not null;
create index invoice_by_order_reference on invoice (merchant_id, livemode, order_reference, id)
  where order_reference is not null;
-- Invoices whose deadline the watcher must settle, for one asset.
create index invoice_open_deadline on invoice (livemode, asset, expires_at)
  where expired_at is null and cancelled_at is null and status in ('awaiting_payment');

-- The extended public keys that the signer publishes, and how far their addresses were derived.
create table account_key (
  keyspace text primary key,
  -- BIP32 extended public key of the account; null where derivation is hardened only.
  xpub text,
  path text not null,
  next_index bigint not null default 0 check (next_index >= 0),
  created_at timestamptz not null
);

-- Every address ever derived. Unassigned rows are the pool from which invoices take theirs; an index is never
-- used twice. No tenant owns a row here: deposit_address says whose it became.
create table address (
  keyspace text not null references account_key (keyspace),
  idx bigint not null,
  -- Witness program, 20-byte EVM address or Solana owner.
  program bytea not null,
  address text not null,
  -- Parameters of the chain the text form is for (main, test, regtest).
  parameters text not null,
  created_at timestamptz not null,
  assigned_at timestamptz,
  primary key (keyspace, idx)
);
create unique index address_by_program on address (keyspace, program);
create index address_pool on address (keyspace, idx) where assigned_at is null;

create table deposit_address (
  merchant_id text not null,
  keyspace text not null,
  idx bigint not null,
  livemode boolean not null,
  invoice_id text not null,
  program bytea not null,
  address text not null,
  created_at timestamptz not null,
  primary key (merchant_id, keyspace, idx),
  foreign key (merchant_id, invoice_id) references invoice (merchant_id, id)
);
-- Whose money is it? One look-up for each match in a block.
create unique index deposit_address_by_program on deposit_address (keyspace, program);
create unique index deposit_address_by_invoice on deposit_address (merchant_id, invoice_id, keyspace);

-- One transfer on chain to one deposit address: the API calls it a payment.
create table transfer (
  merchant_id text not null,
  id text not null,
  livemode boolean not null,
  invoice_id text not null,
  network text not null,
  txid text not null,
  output_index integer not null,
  asset text not null,
  amount numeric(78, 0) not null check (amount >= 0),
  status text not null,
  first_seen_at timestamptz not null,
  detected_at timestamptz not null,
  confirmed_at timestamptz,
  block_height bigint,
  block_hash text,
  block_time timestamptz,
  confirmations_required integer not null,
  late boolean not null,
  dust boolean not null,
  review_reason text,
  resolution text,
  announced_confirming boolean not null,
  announced_review boolean not null,
  ledger_bucket text not null,
  ledger_postings integer not null,
  primary key (merchant_id, id),
  foreign key (merchant_id, invoice_id) references invoice (merchant_id, id)
);
create unique index transfer_identity on transfer (merchant_id, network, txid, output_index);
create index transfer_by_invoice on transfer (merchant_id, invoice_id);
-- What the watcher follows: everything that is not yet final …
create index transfer_unsettled on transfer (network) where status in ('detected', 'confirming');
-- … and everything that a reorganisation down to some height would touch.
create index transfer_by_height on transfer (network, block_height) where block_height is not null;

-- How far each network was read. The row moves last, after all that its blocks caused is committed.
create table network_state (
  network text primary key,
  -- Name of the chain's parameters, learnt from the node: main, test, regtest.
  parameters text,
  height bigint,
  hash text,
  block_time timestamptz,
  tip_height bigint,
  status text not null check (status in ('starting', 'ok', 'syncing', 'unavailable', 'halted')),
  reason text,
  -- When tip and mempool were last read in full.
  read_at timestamptz,
  updated_at timestamptz not null
);

-- Answers kept for 72 hours, so that a repeated create is answered and not repeated.
create table idempotency_key (
  merchant_id text not null references merchant (id),
  livemode boolean not null,
  method text not null,
  route text not null,
  key text not null,
  -- SHA-256 of the parsed request.
  request_hash bytea not null,
  response_status integer not null,
  -- Sealed: an answer may hold a secret that is shown once.
  response_body bytea not null,
  created_at timestamptz not null,
  primary key (merchant_id, livemode, method, route, key)
);
create index idempotency_key_by_age on idempotency_key (created_at);
