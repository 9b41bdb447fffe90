-- What payers sign on Solana: a whole transaction, whose fee the signer's own account pays. Keys have 32 bytes there, and
-- signatures 64; validated by the next migration.
alter table x402_authorization
  -- What was signed, where the columns beside do not say it in full.
  add column message bytea,
  -- No block higher than this has it, as the watcher found.
  add column last_valid_height bigint,
  drop constraint x402_authorization_payer_check,
  drop constraint x402_authorization_recipient_check,
  drop constraint x402_authorization_signature_check,
  add constraint x402_authorization_keys check (
    case when message is null
      then octet_length(payer) = 20 and octet_length(recipient) = 20 and octet_length(signature) = 65
      else octet_length(payer) = 32 and octet_length(recipient) = 32 and octet_length(signature) = 64
        and octet_length(message) <= 1232 end) not valid;
grant update (last_valid_height) on x402_authorization to paylink_watcher;
