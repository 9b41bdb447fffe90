-- NaN is above every other number, so that a check for more than 0 lets it in; one row of it stops whoever reads many.
alter table invoice add constraint invoice_amounts_are_numbers check (amount <> 'NaN' and tolerance_over <> 'NaN' and tolerance_under <> 'NaN' and usd_cents <> 'NaN') not valid;
