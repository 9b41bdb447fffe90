-- What the operator keeps of payments leaves as a merchant's money does, by payouts of the merchant whose coins it is among:
-- such a payout takes from the account `fees`, and what is set aside for it stands in `fees_reserved`.

-- Who runs the installation, and may have its fees paid out: known by a key, of which only the hash is stored. No process
-- reads it: the operator's commands do, as the owner of the database.
create table operator (
  id text primary key collate "C",
  name text not null,
  key_hash bytea not null unique check (octet_length(key_hash) = 32),
  created_at timestamptz not null,
  revoked_at timestamptz
);

-- Where the operator's fees may go. No process may change it: the operator's commands do, as the owner of the database.
create table fee_destination (
  id text primary key collate "C",
  livemode boolean not null,
  asset text not null,
  -- Canonical form, as in payout_destination.
  address text not null,
  name text not null,
  -- Operators.
  created_by text not null,
  removed_by text,
  created_at timestamptz not null,
  -- Until then no payout may go there.
  usable_at timestamptz not null,
  removed_at timestamptz,
  check ((removed_at is null) = (removed_by is null))
);
create unique index fee_destination_once on fee_destination (livemode, asset, address) where removed_at is null;
grant select on fee_destination to paylink_watcher;

-- Of tables that are asked all the time this migration holds the payouts' alone, in the order in which an approval takes
-- them, and looks through none: what is checked of new rows from here on is checked of old ones by 0110.
lock table payout, payout_approval in access exclusive mode;
alter table payout add column source text not null default 'available';
alter table payout add constraint payout_source_check check (source in ('available', 'fees')) not valid;
alter table payout add column fee_destination_id text collate "C";
alter table payout add constraint payout_fee_destination_id_fkey
  foreign key (fee_destination_id) references fee_destination (id) not valid;
alter table payout alter column destination_id drop not null;
alter table payout add constraint payout_destination_of_its_owner
  check ((source = 'available') = (destination_id is not null) and (source = 'fees') = (fee_destination_id is not null))
  not valid;
create index payout_of_fees on payout (id) where source = 'fees';

-- The API serves merchants, who neither ask for, approve nor reject a payout of fees. It reads them for the sake of the
-- coins that they spend and leave.
drop policy api_one_tenant on payout;
create policy api_reads_one_tenant on payout for select to paylink_api
  using (merchant_id = current_setting('paylink.merchant_id', true)
         and livemode = (current_setting('paylink.livemode', true) = 'true'));
create policy api_asks_for_one_tenant on payout for insert to paylink_api
  with check (merchant_id = current_setting('paylink.merchant_id', true)
         and livemode = (current_setting('paylink.livemode', true) = 'true') and source = 'available');
create policy api_decides_for_one_tenant on payout for update to paylink_api
  using (merchant_id = current_setting('paylink.merchant_id', true)
         and livemode = (current_setting('paylink.livemode', true) = 'true') and source = 'available')
  with check (merchant_id = current_setting('paylink.merchant_id', true)
         and livemode = (current_setting('paylink.livemode', true) = 'true') and source = 'available');
drop policy api_one_tenant on payout_approval;
create policy api_reads_one_tenant on payout_approval for select to paylink_api
  using (merchant_id = current_setting('paylink.merchant_id', true)
         and livemode = (current_setting('paylink.livemode', true) = 'true'));
create policy api_approves_for_one_tenant on payout_approval for insert to paylink_api
  with check (merchant_id = current_setting('paylink.merchant_id', true)
         and livemode = (current_setting('paylink.livemode', true) = 'true')
         and exists (select from payout p where p.merchant_id = payout_approval.merchant_id
           and p.id = payout_approval.payout_id and p.source = 'available'));

create or replace function ledger_place_entry() returns trigger
language plpgsql security definer set search_path = public, pg_temp set enable_seqscan = off as $$
declare
  turn constant bigint := hashtextextended('ledger/' || new.merchant_id || '/' || new.livemode, 0);
begin
  if not pg_try_advisory_xact_lock(turn) then
    perform pg_advisory_xact_lock(turn);
  end if;
  new.transaction_id := pg_current_xact_id();
  new.position := null;
  new.balance_after := null;
  if new.account not in ('chain', 'fees', 'fees_reserved') then
    select new.amount + coalesce((
        select balance from ledger_balance
        where merchant_id = new.merchant_id and livemode = new.livemode
          and asset = new.asset and account = new.account), 0),
      1 + coalesce((
        select max(position) from ledger_entry
        where merchant_id = new.merchant_id and livemode = new.livemode and position is not null), 0)
    into new.balance_after, new.position;
  end if;
  return new;
end
$$;

create or replace function ledger_post_entries() returns trigger
language plpgsql security definer set search_path = public, pg_temp set enable_seqscan = off as $$
declare
  entry ledger_entry;
  before ledger_entry;
  total numeric(78, 0) := 0;
  balance_now numeric(78, 0);
begin
  for entry in select * from posted loop
    if (entry.merchant_id, entry.transfer_id, entry.livemode, entry.asset)
      is distinct from (before.merchant_id, before.transfer_id, before.livemode, before.asset) then
      exit when total <> 0;
      perform from ledger_transfer
      where merchant_id = entry.merchant_id and id = entry.transfer_id and livemode = entry.livemode
        and transaction_id = pg_current_xact_id();
      if not found then
        raise exception 'ledger transfer % was changed after it was committed', entry.transfer_id
          using errcode = 'check_violation';
      end if;
    end if;
    total := total + entry.amount;
    update ledger_balance set balance = balance + entry.amount
    where merchant_id = entry.merchant_id and livemode = entry.livemode
      and asset = entry.asset and account = entry.account
    returning balance into balance_now;
    if not found then
      insert into ledger_balance (merchant_id, livemode, asset, account, balance)
      values (entry.merchant_id, entry.livemode, entry.asset, entry.account, entry.amount);
      balance_now := entry.amount;
    end if;
    -- Fees go below zero by the chain's doing alone, never by a payout.
    if entry.account = 'fees' and entry.amount < 0 and balance_now < 0 and entry.transfer_id like 'payout:%' then
      raise exception 'a payout takes more than the fees of %', entry.merchant_id using errcode = 'check_violation';
    end if;
    if balance_now <> entry.balance_after then
      raise exception 'ledger transfer % shares account % with another entry of its statement',
        entry.transfer_id, entry.account using errcode = 'check_violation';
    end if;
    before := entry;
  end loop;
  if total <> 0 then
    raise exception 'the entries of ledger transfer % do not sum to zero', before.transfer_id
      using errcode = 'check_violation';
  end if;
  return null;
end
$$;
