-- Payouts that the signer's journal knows and the database does not: it was set back. Nothing is signed on their networks
-- until the operator has brought them back, or said that the books hold them otherwise.
create table lost_payout (
  payout_id text primary key collate "C",
  network text not null,
  found_at timestamptz not null,
  -- When the operator said so.
  accepted_at timestamptz
);
grant select, insert on lost_payout to paylink_signer;
