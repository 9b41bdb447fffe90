-- A payout whose coins the chain took back before it was signed is refused, and no longer waits for ever.
grant select on ledger_balance to paylink_signer;
create policy signer_reads on ledger_balance for select to paylink_signer using (true);
