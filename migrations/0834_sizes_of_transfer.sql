-- As in 0819: nothing that is read for all merchants is too long to be read.
alter table transfer add constraint transfer_sizes
  check (greatest(octet_length(asset), octet_length(block_hash), octet_length(checked_block_hash),
    octet_length(finality_mark), octet_length(id), octet_length(invoice_id), octet_length(ledger_bucket),
    octet_length(left_on_chain), octet_length(merchant_id), octet_length(network), octet_length(resolution),
    octet_length(review_reason), octet_length(status), octet_length(txid)) <= 65536) not valid;
