-- A link that few buyers open: its list must not be looked for in all the others.
create index invoice_by_link on invoice (merchant_id, livemode, payment_link_id, id)
  where payment_link_id is not null;
