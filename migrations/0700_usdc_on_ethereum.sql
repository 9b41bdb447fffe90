-- USDC on Ethereum can be paid out now. What the merchant has decided of it stood in suspense all the same, and becomes
-- available, with the invoice's service fee. Invoices are locked before the merchant's turn in the ledger, in the order of
-- requests.
create function move_decided(of transfer, name text, kind text, giver text, taker text, amount numeric)
returns void language sql as $$
  with posting as (
    insert into ledger_transfer (merchant_id, id, livemode, kind, invoice_id, payment_id, created_at)
    select of.merchant_id, name, of.livemode, kind, of.invoice_id, of.id, now() where amount > 0)
  insert into ledger_entry (merchant_id, transfer_id, account, asset, livemode, amount, created_at)
  select of.merchant_id, name, one.account, of.asset, of.livemode, one.moved, now()
  from (values (giver, -amount), (taker, amount)) as one (account, moved) where amount > 0
$$;

do $$
declare
  decided transfer;
  fee numeric;
  name text;
begin
  for decided in
    select * from transfer where network ~ '^ethereum-' and asset = 'USDC_ETHEREUM' and ledger_bucket = 'suspense'
      and resolution is not null order by merchant_id, id
  loop
    select div(decided.amount * service_fee_bps, 10000) into fee from invoice
    where merchant_id = decided.merchant_id and id = decided.invoice_id for update;
    select * into decided from transfer where merchant_id = decided.merchant_id and id = decided.id;
    if decided.ledger_bucket = 'suspense' and decided.resolution is not null then
      perform pg_advisory_xact_lock(hashtextextended('ledger/' || decided.merchant_id || '/' || decided.livemode, 0));
      name := concat_ws(':', 'dep', decided.network, decided.txid, decided.output_index, decided.invoice_id,
        decided.ledger_postings + 1);
      perform move_decided(decided, name, 'deposit', 'suspense', 'available', decided.amount);
      perform move_decided(decided, name || ':fee', 'service_fee', 'available', 'fees', fee);
      update transfer set ledger_bucket = 'available', ledger_postings = decided.ledger_postings + 1
      where merchant_id = decided.merchant_id and id = decided.id;
    end if;
  end loop;
end
$$;
drop function move_decided;
