-- The witness program that change of a payout comes back to, so that nobody takes its address for a destination.
alter table payout_change add column program bytea check (octet_length(program) = 20);

-- Change of before: in the transaction's bytes its script stands right behind its amount (8 bytes, the lowest first). Where
-- another output looks the same, the program stays unknown.
update payout_change made set program = substring(o.raw from position(o.output in o.raw) + 11 for 20)
from (
  select c.merchant_id, c.network, c.txid, c.output_index, t.raw, (
    select string_agg(substring(int8send(c.amount::bigint) from n for 1), ''::bytea order by n desc) || '\x160014'::bytea
    from generate_series(1, 8) as n) as output
  from payout_change c join payout_transaction t
    on t.merchant_id = c.merchant_id and t.payout_id = c.payout_id and t.txid = c.txid) o
where (made.merchant_id, made.network, made.txid, made.output_index) = (o.merchant_id, o.network, o.txid, o.output_index)
  and position(o.output in o.raw) > 0
  and position(o.output in substring(o.raw from position(o.output in o.raw) + 1)) = 0;

create index payout_change_by_program on payout_change (program);

-- Whether change of any merchant's came to a program. The API sees one merchant's rows, so it runs as the owner.
create function is_change_program(asked bytea) returns boolean
  language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select exists (select from public.payout_change c where c.program = asked)
$$;
revoke execute on function is_change_program(bytea) from public;
grant execute on function is_change_program(bytea) to paylink_api;
