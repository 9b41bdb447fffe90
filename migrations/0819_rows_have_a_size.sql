-- PostgreSQL keeps half a gigabyte of one letter in some megabytes, and a process that reads such a value for all merchants
-- ends, at each start again: the signer, and delivery with the e-mails that warn of new destinations. An event's body has
-- 64 KB at most, and everything else far less: these bounds are ten times that.
do $$
declare
  one record;
begin
  for one in
    select c.relname, a.attname, case when c.relname = 'event' then 1048576 else 65536 end as bytes,
      case when a.atttypid in ('text'::regtype, 'bytea'::regtype) then '%I' else '%I::text' end as shape
    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and c.relname in (
        'event', 'payout', 'payout_approval', 'payout_destination', 'person', 'person_passkey', 'webhook_endpoint',
        'endpoint_secret', 'organization_member', 'card_purchase', 'delivery', 'deposit_address', 'event_awaiting',
        'installation_secret', 'receipt_request', 'transfer', 'x402_authorization')
      and a.atttypid in ('text'::regtype, 'bytea'::regtype, 'text[]'::regtype)
  loop
    execute format('alter table %I add constraint %I check (octet_length(' || one.shape || ') <= ' || one.bytes || ') not valid',
      one.relname, one.relname || '_a_size_of_' || one.attname, one.attname);
  end loop;
end
$$;
