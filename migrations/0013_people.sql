-- The people who run a shop: their sign-ins, their organizations, their second factors.
--
-- These tables belong to the library that does the authentication (better-auth); only their names are ours.
-- They stand outside the tenants: who signs in belongs to no merchant yet. The API's process reads and writes
-- them and no other. An organization is a merchant, under the merchant's id.

create table person (
  id text primary key,
  name text not null,
  email text not null unique,
  email_verified boolean not null,
  image text,
  two_factor_enabled boolean,
  created_at timestamptz not null,
  updated_at timestamptz not null
);

create table person_session (
  id text primary key,
  user_id text not null references person (id) on delete cascade,
  token text not null unique,
  expires_at timestamptz not null,
  ip_address text,
  user_agent text,
  active_organization_id text,
  -- When this sign-in last proved a second factor; what moves money or keys asks for five minutes at most.
  second_factor_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create index person_session_by_user on person_session (user_id);

create table person_account (
  id text primary key,
  user_id text not null references person (id) on delete cascade,
  account_id text not null,
  provider_id text not null,
  access_token text,
  refresh_token text,
  id_token text,
  access_token_expires_at timestamptz,
  refresh_token_expires_at timestamptz,
  scope text,
  -- argon2id
  password text,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create index person_account_by_user on person_account (user_id);

create table person_verification (
  id text primary key,
  identifier text not null,
  value text not null,
  expires_at timestamptz not null,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create index person_verification_by_identifier on person_verification (identifier);

create table organization (
  id text primary key references merchant (id),
  name text not null,
  slug text not null unique,
  logo text,
  metadata text,
  created_at timestamptz not null
);

create table organization_member (
  id text primary key,
  organization_id text not null references organization (id),
  user_id text not null references person (id) on delete cascade,
  role text not null check (role in ('owner', 'admin', 'member', 'viewer')),
  created_at timestamptz not null,
  unique (organization_id, user_id)
);
create index organization_member_by_user on organization_member (user_id);

create table organization_invitation (
  id text primary key,
  organization_id text not null references organization (id),
  email text not null,
  role text check (role in ('admin', 'member', 'viewer')),
  status text not null,
  inviter_id text not null references person (id) on delete cascade,
  expires_at timestamptz not null,
  created_at timestamptz not null
);
create index organization_invitation_by_email on organization_invitation (email);
create index organization_invitation_by_organization on organization_invitation (organization_id);

create table person_two_factor (
  id text primary key,
  user_id text not null references person (id) on delete cascade,
  -- Both encrypted by the library under a key of its own.
  secret text not null,
  backup_codes text not null,
  verified boolean,
  failed_verification_count integer,
  locked_until timestamptz
);
create index person_two_factor_by_user on person_two_factor (user_id);

create table person_passkey (
  id text primary key,
  user_id text not null references person (id) on delete cascade,
  name text,
  public_key text not null,
  credential_id text not null unique,
  counter bigint not null,
  device_type text not null,
  backed_up boolean not null,
  transports text,
  aaguid text,
  created_at timestamptz
);
create index person_passkey_by_user on person_passkey (user_id);

create table sign_in_rate (
  id text primary key,
  key text not null unique,
  count bigint not null,
  last_request bigint not null
);

-- Guesses at a secret, counted before they are evaluated: a thousand at once are still five.
create table secret_guess (
  -- `password/<SHA-256 of the address>` or `second_factor/<person>`.
  subject text primary key,
  guesses integer not null check (guesses > 0),
  since timestamptz not null
);

-- One-time codes that were presented, so that none is evaluated twice.
create table presented_code (
  user_id text not null references person (id) on delete cascade,
  code_hash bytea not null,
  presented_at timestamptz not null,
  primary key (user_id, code_hash)
);
create index presented_code_by_age on presented_code (presented_at);

grant select, insert, update, delete on person, person_session, person_account, person_verification,
  organization, organization_member, organization_invitation, person_two_factor, person_passkey,
  sign_in_rate, secret_guess, presented_code to paylink_api;

-- Sign-up makes a merchant; the dashboard makes and revokes keys and sets payment rules.
grant insert on merchant to paylink_api;
grant update (name, email) on merchant to paylink_api;
grant insert on api_key to paylink_api;
grant insert, update on payment_rules to paylink_api;

alter table api_key add column name text;
-- The person who made it in the dashboard; absent for one made by command.
alter table api_key add column created_by text;
alter table api_key add column last_used_at timestamptz;
alter table api_key add column last_characters text;
grant update (revoked_at, last_used_at) on api_key to paylink_api;
create index api_key_by_merchant on api_key (merchant_id, livemode, id desc);
