-- The secret of an operator's authenticator app, sealed to the signer, which asks for its codes before it signs a live
-- payout of fees. Only the owner's login writes it. Null: the operator approves test payouts alone.
alter table operator add column totp_sealed bytea
  constraint operator_totp_sealed_is_small check (octet_length(totp_sealed) between 48 and 512);
-- The signer sees who may approve by which app; it keeps a list of its own of what it saw when.
grant select (id, totp_sealed, revoked_at) on operator to paylink_signer;
