-- Why a receipt was not sent, for the shop to read.
alter table receipt_request add column reason text;
grant select (livemode, outcome, reason) on receipt_request to paylink_api;
grant update (reason) on receipt_request to paylink_delivery;
-- One that was handed to the mail server may turn out not to be sent; none is ever opened again.
alter policy delivery_ends on receipt_request using (ended_at is null or outcome = 'sent')
  with check (ended_at is not null and sealed is null);
