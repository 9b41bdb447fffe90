-- As in 0819: nothing that is read for all merchants is too long to be read.
alter table x402_authorization add constraint x402_authorization_sizes
  check (greatest(octet_length(id), octet_length(invoice_id), octet_length(merchant_id), octet_length(network),
    octet_length(nonce), octet_length(payer), octet_length(reason), octet_length(recipient),
    octet_length(signature), octet_length(status), octet_length(txid)) <= 65536) not valid;
