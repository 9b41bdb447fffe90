-- Rows that decide who may do what carry a seal (HMAC) under a key that is not in the database: whoever can write them
-- with SQL alone cannot make one that counts. A release that knows no seals leaves them empty or outdated, and goes on.
alter table person add column seal text;
alter table person_session add column seal text;
alter table person_account add column seal text;
alter table person_verification add column seal text;
alter table organization_member add column seal text;
alter table organization_invitation add column seal text;
alter table person_two_factor add column seal text;
alter table person_passkey add column seal text;
alter table api_key add column seal text;
grant update (seal) on api_key to paylink_api;

-- Which rows a shop or person has, sealed together, so that one put in or taken out is noticed by the audit.
create table access_set (
  owner_id text not null,
  kind text not null check (kind in ('member', 'apiKey', 'passkey', 'twoFactor')),
  -- `<id> <seal>` of each row, in order.
  entries text[] not null,
  seal text not null,
  primary key (owner_id, kind)
);
grant select, insert, update on access_set to paylink_api;

-- That the rows of a release without seals were sealed. Once: the API's role can take it back no more. One row.
create table access_sealed (
  id boolean primary key default true check (id),
  sealed_at timestamptz not null
);
grant select, insert on access_sealed to paylink_api;
