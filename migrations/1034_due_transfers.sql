-- What waits for a block, and what has become final at a height, without a look at all that waits. A payment is due by a
-- count of blocks once this sum is not above the tip plus one; by a block's tag once it is not above the tagged block.
drop index transfer_unsettled;
create index transfer_unsettled on transfer
  (network, status, finality_mark, (block_height + coalesce(confirmations_required, 0)))
  where status in ('detected', 'confirming');
