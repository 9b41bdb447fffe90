-- PostgreSQL lets everybody call a new function, and whoever may call a trigger's function may hang it on a temporary table
-- of their own: with any login, rows of it became credit in the hot wallet, or members that were taken out. Triggers that
-- there are need no such right.
do $$
declare
  of_trigger text;
begin
  for of_trigger in
    select oid::regprocedure::text from pg_proc
    where pronamespace = 'public'::regnamespace and prorettype = 'trigger'::regtype
  loop
    execute format('revoke execute on function %s from public', of_trigger);
  end loop;
end $$;
