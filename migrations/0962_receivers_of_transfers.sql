-- As 0961: a transfer came to an invoice or to a deposit account.
alter table transfer drop constraint transfer_merchant_id_invoice_id_fkey;
create trigger transfer_has_its_receiver after insert on transfer
  for each row execute function require_receiver();
