-- A payment is final after a count of blocks, or once the chain's own consensus marks its block.
alter table transfer alter column confirmations_required drop not null;
alter table transfer add column finality_mark text check (finality_mark in ('safe', 'finalized'));
alter table transfer add check ((confirmations_required is null) <> (finality_mark is null));

-- Heights of the highest blocks that the network's consensus calls safe and finalized; null where it has no such words.
alter table network_state add column safe_height bigint;
alter table network_state add column finalized_height bigint;

-- Chains of accounts have no outputs: one transaction credits an address once in each asset, and one that pays many
-- checkouts is one transfer for each of them.
drop index transfer_identity;
create unique index transfer_identity on transfer (merchant_id, network, txid, output_index, invoice_id);
