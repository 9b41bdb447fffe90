-- A seal that does not verify with the key that the signer knows (another key, or nobody's): the signer marks it, and a
-- watcher asks the chain again and seals anew.
alter table outcome_seal add column refused_at timestamptz;
grant update (refused_at) on outcome_seal to paylink_watcher, paylink_signer;
