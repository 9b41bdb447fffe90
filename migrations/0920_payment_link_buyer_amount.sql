-- Of a link whose buyers say how much they pay: in which currency, from what minimum to what maximum, and which amounts its
-- page suggests. Null: any amount, in dollars.
alter table payment_link
  add column buyer_amount jsonb,
  add constraint payment_link_buyer_amount
    check (buyer_amount is null or allow_dynamic_amount and octet_length(buyer_amount::text) <= 1024) not valid;
grant update (buyer_amount) on payment_link to paylink_api;
