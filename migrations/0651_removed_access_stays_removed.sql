-- What decides who may do what and was taken out does not come back: not a member, passkey, authenticator app or sign-in that
-- was deleted, not a password that was replaced, not a key that was revoked. Their seals still verify, so whoever kept a row
-- could put it back with SQL. The owner of the tables, by hand, may do what they must.
create table access_gone (
  -- `<table>/<id>`; of a password `person_account/<SHA-256>`. As often as it went.
  what text not null,
  gone_at timestamptz not null default now()
);
create index access_gone_by_what on access_gone (what);
create index access_gone_of_sign_ins on access_gone (gone_at) where what like 'person\_session/%';
grant select on access_gone to paylink_signer, paylink_api;

create function is_owner_of(regclass) returns boolean language sql stable set search_path = pg_catalog, pg_temp as
  $$ select pg_catalog.pg_get_userbyid(relowner) = session_user from pg_catalog.pg_class where oid = $1 $$;

create function note_access_gone() returns trigger language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
begin
  if public.is_owner_of(tg_relid) then return null; end if;
  if tg_table_name = 'person_session' then
    -- A sign-in lasts a week.
    delete from public.access_gone where what like 'person\_session/%' and gone_at < now() - interval '30 days';
    if old.expires_at < now() then return null; end if;
  end if;
  insert into public.access_gone (what) values (tg_table_name || '/' || old.id);
  return null;
end $$;

create function note_password_gone() returns trigger language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
begin
  insert into public.access_gone (what)
    values ('person_account/' || encode(sha256(convert_to(old.password, 'UTF8')), 'hex'));
  return null;
end $$;

create function refuse_access_gone() returns trigger language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
begin
  if public.is_owner_of(tg_relid) then return new; end if;
  if tg_op = 'UPDATE' or exists (select from public.access_gone where what = tg_table_name || '/' || new.id) then
    raise exception '% of % was removed, or is another', new.id, tg_table_name using errcode = 'check_violation';
  end if;
  return new;
end $$;

create function refuse_password_gone() returns trigger language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
begin
  if exists (select from public.access_gone
    where what = 'person_account/' || encode(sha256(convert_to(new.password, 'UTF8')), 'hex')) then
    raise exception 'the password of % was replaced', new.id using errcode = 'check_violation';
  end if;
  return new;
end $$;

create function refuse_key_again() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  raise exception 'key % was revoked', old.id using errcode = 'check_violation';
end $$;

create trigger member_goes after delete on organization_member for each row execute function note_access_gone();
-- One who manages no more may manage again; the signer counts how often.
create trigger manager_goes after update on organization_member for each row
  when (old.role in ('owner', 'admin') and (new.role not in ('owner', 'admin')
    or (new.organization_id, new.user_id) is distinct from (old.organization_id, old.user_id)))
  execute function note_access_gone();
create trigger passkey_goes after delete on person_passkey for each row execute function note_access_gone();
create trigger authenticator_goes after delete on person_two_factor for each row execute function note_access_gone();
create trigger sign_in_goes after delete on person_session for each row execute function note_access_gone();
create trigger password_goes after update on person_account for each row
  when (old.password is distinct from new.password and old.password is not null) execute function note_password_gone();
create trigger password_goes_with_account after delete on person_account for each row
  when (old.password is not null) execute function note_password_gone();

create trigger member_is_new before insert on organization_member for each row execute function refuse_access_gone();
create trigger member_is_the_same before update on organization_member for each row
  when (new.id <> old.id) execute function refuse_access_gone();
create trigger passkey_is_new before insert on person_passkey for each row execute function refuse_access_gone();
create trigger passkey_is_the_same before update on person_passkey for each row
  when (new.id <> old.id) execute function refuse_access_gone();
create trigger authenticator_is_new before insert on person_two_factor for each row execute function refuse_access_gone();
create trigger authenticator_is_the_same before update on person_two_factor for each row
  when (new.id <> old.id) execute function refuse_access_gone();
create trigger sign_in_is_new before insert on person_session for each row execute function refuse_access_gone();
create trigger sign_in_is_the_same before update on person_session for each row
  when (new.id <> old.id) execute function refuse_access_gone();
create trigger password_is_new before insert or update of password on person_account for each row
  execute function refuse_password_gone();
create trigger key_stays_revoked before update on api_key for each row
  when (old.revoked_at is not null and new.revoked_at is distinct from old.revoked_at) execute function refuse_key_again();
