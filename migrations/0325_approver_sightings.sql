-- Which credentials of owners and admins the signer has first seen, written by it alone: delivery e-mails about each once.
-- A row stays when its member or credential goes: who planted one must not take the e-mail back with it.
create table approver_sighting (
  -- Of the credential, its holder and the merchant: another when any of it changes.
  fingerprint text primary key,
  merchant_id text not null,
  livemode boolean not null check (livemode),
  person_id text not null,
  kind text not null check (kind in ('passkey', 'totp')),
  -- From when on the signer takes approvals by it.
  counts_from timestamptz not null,
  -- When the merchant's owners and admins were e-mailed about it.
  told_at timestamptz
);
create index approver_sighting_untold on approver_sighting (counts_from) where told_at is null;
grant select, insert on approver_sighting to paylink_signer;
grant select, update (told_at) on approver_sighting to paylink_delivery;

alter table approver_sighting enable row level security;
alter table approver_sighting force row level security;
create policy owner_all on approver_sighting to current_user using (true) with check (true);
create policy workers_all on approver_sighting to paylink_signer, paylink_delivery using (true) with check (true);
