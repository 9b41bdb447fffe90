-- NaN is above every other number, so that a check for more than 0 lets it in; one row of it stops whoever reads many.
alter table payout add constraint payout_amounts_are_numbers check (amount <> 'NaN' and network_fee <> 'NaN' and network_fee_max <> 'NaN') not valid;
