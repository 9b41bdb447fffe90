-- By which key the signer knows approvals, said by itself: where the API's table has another one, somebody wrote it. One row.
create table signer_approval_key (
  id boolean primary key default true check (id),
  public_key bytea check (octet_length(public_key) = 32)
);
grant select, insert, update on signer_approval_key to paylink_signer;
grant select on signer_approval_key, payout_approval_key to paylink_watcher;
