-- A payment link's page carries random words of its own, and a press of its Continue sends them back: one invoice
-- for each such page, however often and however quickly it is pressed. Of the words only the SHA-256 is kept, for
-- whoever has them is led to the invoice.
alter table invoice add column visit_digest bytea;
create unique index invoice_of_visit on invoice (merchant_id, payment_link_id, visit_digest)
  where visit_digest is not null;
