-- Wrapped SOL was booked as SOL, of which no payout could be paid. It is an asset of its own: what stands in the ledger is
-- taken back and booked again as WSOL, in suspense where it was available. Invoices are locked before the merchant's turn
-- in the ledger, in the order of requests.
create function move_wrapped(
  of transfer, name text, kind text, asset text, giver text, taker text, amount numeric
) returns void language sql as $$
  with posting as (
    insert into ledger_transfer (merchant_id, id, livemode, kind, invoice_id, payment_id, created_at)
    select of.merchant_id, name, of.livemode, kind, of.invoice_id, of.id, now() where amount > 0)
  insert into ledger_entry (merchant_id, transfer_id, account, asset, livemode, amount, created_at)
  select of.merchant_id, name, one.account, asset, of.livemode, one.moved, now()
  from (values (giver, -amount), (taker, amount)) as one (account, moved) where amount > 0
$$;

do $$
declare
  wrapped transfer;
  fee numeric;
  missing numeric;
  name text;
begin
  for wrapped in
    select * from transfer where network ~ '^solana-' and asset = 'SOL' and output_index >= 1000 order by merchant_id, id
  loop
    perform from invoice where merchant_id = wrapped.merchant_id and id = wrapped.invoice_id for update;
    select * into wrapped from transfer where merchant_id = wrapped.merchant_id and id = wrapped.id;
    name := concat_ws(':', 'dep', wrapped.network, wrapped.txid, wrapped.output_index, wrapped.invoice_id, '');
    if wrapped.ledger_bucket <> 'none' then
      perform pg_advisory_xact_lock(hashtextextended('ledger/' || wrapped.merchant_id || '/' || wrapped.livemode, 0));
      if wrapped.ledger_bucket = 'available' then
        select div(wrapped.amount * service_fee_bps, 10000) into fee from invoice
        where merchant_id = wrapped.merchant_id and id = wrapped.invoice_id;
        perform move_wrapped(wrapped, name || wrapped.ledger_postings + 1 || ':fee', 'service_fee_return', 'SOL', 'fees', 'available', fee);
        select wrapped.amount - coalesce(sum(balance), 0) into missing from ledger_balance
        where merchant_id = wrapped.merchant_id and livemode = wrapped.livemode and asset = 'SOL' and account = 'available';
        perform move_wrapped(wrapped, name || wrapped.ledger_postings + 1 || ':shortfall', 'shortfall', 'SOL', 'shortfall', 'available', missing);
      end if;
      perform move_wrapped(wrapped, name || wrapped.ledger_postings + 1, 'deposit_void', 'SOL', wrapped.ledger_bucket, 'chain', wrapped.amount);
      if wrapped.ledger_bucket = 'available' then
        wrapped.ledger_bucket := 'suspense';
      end if;
      perform move_wrapped(wrapped, name || wrapped.ledger_postings + 2, 'deposit', 'WSOL', 'chain', wrapped.ledger_bucket, wrapped.amount);
      wrapped.ledger_postings := wrapped.ledger_postings + 2;
    end if;
    update transfer set asset = 'WSOL', ledger_bucket = wrapped.ledger_bucket, ledger_postings = wrapped.ledger_postings
    where merchant_id = wrapped.merchant_id and id = wrapped.id;
  end loop;
end
$$;
drop function move_wrapped;
