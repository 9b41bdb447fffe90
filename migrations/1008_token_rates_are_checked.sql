alter table invoice validate constraint invoice_token_rates;
