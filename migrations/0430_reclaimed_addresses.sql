-- Addresses whose balance was taken back: asked for with each funded one, at every look for more to fund.
create index solana_chore_reclaimed on solana_chore (network, (indexes[1])) where kind = 'reclaim' and landed;
