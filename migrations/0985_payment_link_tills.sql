-- A payment link whose page is a till: what staff sell at it and which tips it offers, null for any other link; and the
-- digest of the code that staff sign in with, null until one was made.
alter table payment_link
  add column till json,
  add column staff_code bytea,
  add constraint payment_link_till check (
    (till is null or allow_dynamic_amount and octet_length(till::text) <= 16384)
    and (staff_code is null or till is not null and octet_length(staff_code) = 48)) not valid;
grant update (till, staff_code) on payment_link to paylink_api;
