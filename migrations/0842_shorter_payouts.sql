-- As in 0838: the signer reads hundreds at once, the watcher thousands.
alter table payout drop constraint payout_sizes, add constraint payout_sizes
  check (greatest(octet_length(approved_by), octet_length(asset), octet_length(destination),
    octet_length(destination_id), octet_length(failure_code), octet_length(fee_destination_id),
    octet_length(id), octet_length(merchant_id), octet_length(network), octet_length(rejected_by),
    octet_length(requested_by), octet_length(source), octet_length(status), octet_length(txid)) <= 4096) not valid;
