-- An authenticator app's secret once more, sealed to the key of the signer, which verifies codes by a copy of its own.
-- It goes with the authenticator it belongs to.
create table person_totp_seal (
  two_factor_id text primary key references person_two_factor (id) on delete cascade,
  -- The signer's key that it is sealed to.
  signer_key bytea not null check (octet_length(signer_key) = 32),
  sealed bytea not null check (octet_length(sealed) between 48 and 512),
  created_at timestamptz not null
);
grant select, insert, update, delete on person_totp_seal to paylink_api;

-- The signer sees who may approve, and by which credentials; it keeps a list of its own of what it saw when.
grant select on person_totp_seal to paylink_signer;
grant select (id, organization_id, user_id, role) on organization_member to paylink_signer;
grant select (id, user_id, credential_id, public_key) on person_passkey to paylink_signer;
grant select (id, user_id, verified) on person_two_factor to paylink_signer;
