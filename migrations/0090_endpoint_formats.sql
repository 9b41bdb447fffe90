-- In which words an endpoint is told: Paylink's own, or those of an older service whose receiver the shop keeps.
-- The release before writes no format and gets our own.
alter table webhook_endpoint add column format text not null default 'paylink'
  check (format in ('paylink', 'btcpay', 'coinbase_commerce'));
