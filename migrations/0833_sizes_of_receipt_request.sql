-- As in 0819: nothing that is read for all merchants is too long to be read.
alter table receipt_request add constraint receipt_request_sizes
  check (greatest(octet_length(invoice_id), octet_length(merchant_id), octet_length(outcome),
    octet_length(recipient), octet_length(sealed)) <= 65536) not valid;
