-- A watcher seals, too, which nonce of a deposit address is next: by another one the signer would sign what no block takes.
alter table outcome_seal add constraint outcome_seal_kind check (kind in ('landed', 'failed', 'next_nonce')) not valid;
alter table outcome_seal drop constraint outcome_seal_kind_check;
