alter table solana_chore validate constraint solana_chore_kind_check;
-- The few merchants who ask for it, found without reading everybody's rules.
create index payment_rules_funded on payment_rules (merchant_id, livemode)
  where rules @> '{"solana_funded_addresses": true}';
