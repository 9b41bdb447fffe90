-- The signer's own account that pays the fees of what others sign by x402 on a Solana network, and creates token accounts for
-- it. It pays nothing else, so that nobody who has it sign can reach more than it holds.
create table x402_fee_payer (
  network text primary key check (length(network) <= 64),
  -- Base58.
  address text not null check (length(address) between 32 and 44),
  -- What it holds at a finalized slot, and what a token account must hold, lamports; null until a watcher has read them.
  lamports numeric(78, 0) check (lamports >= 0 and lamports <> 'NaN'),
  account_rent numeric(78, 0) check (account_rent >= 0 and account_rent <> 'NaN'),
  read_at timestamptz
);

grant select on x402_fee_payer to paylink_api, paylink_watcher, paylink_signer;
grant insert (network, address) on x402_fee_payer to paylink_signer;
grant update (address) on x402_fee_payer to paylink_signer;
grant update (lamports, account_rent, read_at) on x402_fee_payer to paylink_watcher;
