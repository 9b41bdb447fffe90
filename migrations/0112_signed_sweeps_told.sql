-- The fee of a payout counts sweeps that were signed for one that failed: they may happen, and go on for its sake.
grant select on sweep_transaction to paylink_api;
