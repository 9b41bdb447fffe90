-- From which addresses a person has signed in: wrong passwords from anywhere else do not keep them out there.
create table person_place (
  user_id text not null references person (id) on delete cascade,
  -- An IPv4 address, or the /64 of an IPv6 one.
  place text not null,
  seen_at timestamptz not null,
  primary key (user_id, place)
);
grant select, insert, update, delete on person_place to paylink_api;

comment on column secret_guess.subject is
  '`password/<SHA-256 of the e-mail address>/` and a known place, `elsewhere` or `signed_in`; or `second_factor/<person>`';
