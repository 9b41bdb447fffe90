-- NaN is above every other number, so that a check for more than 0 lets it in; one row of it stops whoever reads many.
alter table frozen_deposit add constraint frozen_deposit_amounts_are_numbers check (amount <> 'NaN') not valid;
alter table hot_wallet add constraint hot_wallet_amounts_are_numbers check (balance <> 'NaN' and base_fee <> 'NaN' and l1_fee <> 'NaN' and tip <> 'NaN' and token_balance <> 'NaN') not valid;
alter table network_state add constraint network_state_amounts_are_numbers check (minimum <> 'NaN') not valid;
alter table payout_change add constraint payout_change_amounts_are_numbers check (amount <> 'NaN') not valid;
alter table payout_transaction add constraint payout_transaction_amounts_are_numbers check (network_fee <> 'NaN') not valid;
alter table solana_chore add constraint solana_chore_amounts_are_numbers check (vault_lamports <> 'NaN') not valid;
alter table solana_house add constraint solana_house_amounts_are_numbers check (fee_payer_lamports <> 'NaN' and nonce_rent_exempt <> 'NaN' and rent_exempt <> 'NaN' and vault_lamports <> 'NaN') not valid;
alter table sweep add constraint sweep_amounts_are_numbers check (amount <> 'NaN' and cost <> 'NaN') not valid;
alter table sweep_transaction add constraint sweep_transaction_amounts_are_numbers check (cost <> 'NaN') not valid;
