-- Whether this database belongs to a staging installation, whose live mode is on private chains. One row, written when
-- the owner first starts on it, read at every start. What was in use before belongs to none.
create table installation (
  only_one boolean primary key default true check (only_one),
  staging boolean not null
);
insert into installation (staging)
select false where exists (select from account_key) or exists (select from merchant);
grant select on installation to paylink_api, paylink_watcher, paylink_delivery, paylink_signer;
