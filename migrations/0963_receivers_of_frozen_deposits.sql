-- As 0961: what its issuer freezes may have come to a deposit account.
alter table frozen_deposit drop constraint frozen_deposit_merchant_id_invoice_id_fkey;
create trigger frozen_deposit_has_its_receiver after insert on frozen_deposit
  for each row execute function require_receiver();
