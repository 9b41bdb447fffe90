-- As in 0819: nothing that is read for all merchants is too long to be read.
alter table payout_approval add constraint payout_approval_sizes
  check (greatest(octet_length(approver), octet_length(digest), octet_length(merchant_id),
    octet_length(payout_id), octet_length(signature)) <= 65536) not valid;
