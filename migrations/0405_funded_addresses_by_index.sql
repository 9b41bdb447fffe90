-- Addresses that hold what the fee payer put there, or are about to: asked for at every look for more to fund.
create index solana_chore_funded on solana_chore (network, (indexes[1])) where kind = 'fund' and landed is not false;
