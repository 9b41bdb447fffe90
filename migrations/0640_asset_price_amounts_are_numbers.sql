-- NaN is above every other number, so that a check for more than 0 lets it in; one row of it stops whoever reads many.
alter table asset_price add constraint asset_price_amounts_are_numbers check (price <> 'NaN') not valid;
