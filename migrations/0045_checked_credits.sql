-- Coin that no block's hash proves to be in it (what contracts pay) is looked at once more, by every provider: the block
-- in which this payment was found again. Null, or another block than the payment's own, until then.
alter table transfer add column checked_block_hash text;
create index transfer_unchecked on transfer (network, block_height)
  where status in ('detected', 'confirming') and block_hash is not null and checked_block_hash is distinct from block_hash;
