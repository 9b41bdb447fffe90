-- That the books hold a lost payout otherwise is the operator's word: the signer's login only says that it misses one.
revoke insert on lost_payout from paylink_signer;
grant insert (payout_id, network, found_at) on lost_payout to paylink_signer;
