-- NaN is above every other number, so that a check for more than 0 lets it in; one row of it stops whoever reads many.
alter table payment_link add constraint payment_link_amounts_are_numbers check (usd_cents <> 'NaN') not valid;
