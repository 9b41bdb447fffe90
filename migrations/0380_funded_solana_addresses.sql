-- Deposit addresses that the fee payer puts a smallest balance on, for wallets that pay no address that holds nothing:
-- what the signer is asked for gets two more kinds, to fund an address and to reclaim what was put there.
alter table solana_chore drop constraint solana_chore_kind_check;
alter table solana_chore add constraint solana_chore_kind_check
  check (kind in ('nonce', 'sweep', 'fund', 'reclaim')) not valid;
