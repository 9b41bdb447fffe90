-- What a rescan compares is everything that is recorded of its blocks, which transfer_by_height serves.
drop index transfer_block_sum_in;
