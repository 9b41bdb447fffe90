-- What waits for the merchant's decision is a few among millions: the queue reads this, and the invoices of three
-- statuses by invoice_by_status.
create index transfer_under_review on transfer (merchant_id, livemode, invoice_id)
  where review_reason is not null and resolution is null;
create index invoice_resolution_by_invoice on invoice_resolution (merchant_id, invoice_id, created_at);
