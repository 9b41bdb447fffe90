-- What an event repeats of an invoice is short enough for the event to be written: otherwise a network would halt at the
-- payment. The metadata may have 8 KB, a URL 8 KB, everything else less.
alter table invoice add constraint invoice_sizes
  check (greatest(octet_length(address), octet_length(amount_source), octet_length(announced::text), octet_length(asset),
    octet_length(checkout_session_id), octet_length(confirmations::text), octet_length(customer_email),
    octet_length(external_reference), octet_length(id), octet_length(merchant_id), octet_length(metadata::text),
    octet_length(order_reference), octet_length(payment_link_id), octet_length(rate::text), octet_length(reopened_from),
    octet_length(return_url), octet_length(status), octet_length(visit_digest)) <= 16384) not valid;
