-- Tokens are read twice: up to here the second reading has confirmed the first. Null where nothing is read twice, or
-- until the first reading has a checkpoint to begin at.
alter table network_state add column second_height bigint;
alter table network_state add column second_hash text;
