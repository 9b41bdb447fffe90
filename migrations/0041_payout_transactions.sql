-- From which height on a payout's transaction can stand in a block: the chain as it was known when it was signed.
alter table payout_transaction add column from_height bigint not null default 0;
alter table payout_transaction alter column from_height drop default;

-- Payouts that were confirmed lately and are looked after until their blocks are buried.
create index payout_lately_confirmed on payout (network, confirmed_at) where status = 'confirmed';

-- The signer reads how a network stands; the query of that reads how far it is watched, too.
grant select on network_watch to paylink_signer;
