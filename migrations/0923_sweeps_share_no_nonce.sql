-- A nonce of a deposit address belongs to one sweep, whether the address sends that itself or is delegated for it: of two that
-- are planned at a time the second is planned again.
create unique index sweep_by_nonce on sweep (merchant_id, network, address, coalesce(nonce, delegation_nonce))
  where status <> 'failed' and coalesce(nonce, delegation_nonce) is not null;
