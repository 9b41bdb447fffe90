-- What proves that a person approved a live payout: a passkey's signature over the approval's digest, or a code of an
-- authenticator app, sealed to the signer. Null in test mode, of fees, and before there was any.
alter table payout_approval add column evidence jsonb;
alter table payout_approval add constraint payout_approval_evidence_is_small
  check (octet_length(evidence::text) <= 16384) not valid;
