-- NaN is above every other number, so that a check for more than 0 lets it in; one row of it stops whoever reads many.
alter table transfer add constraint transfer_amounts_are_numbers check (amount <> 'NaN') not valid;
