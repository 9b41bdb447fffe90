-- NaN is above every other number, so that a check for more than 0 lets it in; one row of it stops whoever reads many.
alter table card_purchase add constraint card_purchase_amounts_are_numbers check (amount <> 'NaN') not valid;
