-- Which provider a network's payouts go through, and why not through the first one, or why through none.
alter table network_state add column payout_provider text;
alter table network_state add column payout_notice text;
