-- What the sign-in library looks at before it acts, and two requests at once can get past.

-- A shop keeps an owner. Two owners who leave, or are made less, at the same moment each see the other; the row
-- lock on the organization puts them one after the other. The operator, by hand, may do what they must.
create function organization_keeps_an_owner() returns trigger language plpgsql as $$
begin
  if (select relowner = current_user::regrole from pg_class where oid = tg_relid) then return null; end if;
  perform from organization where id = old.organization_id for update;
  if not exists (select from organization_member where organization_id = old.organization_id and role = 'owner') then
    raise exception 'organization % would have no owner', old.organization_id using errcode = 'check_violation';
  end if;
  return null;
end $$;
create trigger organization_keeps_an_owner after delete or update of role on organization_member
  for each row when (old.role = 'owner') execute function organization_keeps_an_owner();

-- One authenticator a person: of two that were begun at once, the code of either could have been asked for.
delete from person_two_factor one using person_two_factor other
  where one.user_id = other.user_id
    and (coalesce(one.verified, true), one.id) < (coalesce(other.verified, true), other.id);
drop index person_two_factor_by_user;
create unique index person_two_factor_by_user on person_two_factor (user_id);
