-- NaN is above every other number, so that a check for more than 0 lets it in; one row of it stops whoever reads many.
alter table x402_authorization add constraint x402_authorization_amounts_are_numbers check (valid_after <> 'NaN' and valid_before <> 'NaN' and value <> 'NaN') not valid;
