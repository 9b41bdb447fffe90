-- What the shop says that the buyer pays for; null where it does not say. Written once: no login may update it.
alter table invoice
  add column description text,
  add constraint invoice_description_is_a_line
    check (char_length(description) between 1 and 500 and description !~ '[\x01-\x1f\x7f-\x9f]') not valid;
