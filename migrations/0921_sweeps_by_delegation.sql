-- What deposits of a token are swept by that nobody moves by signature (EIP-7702). The deposit address's own nonce, where the
-- sweep delegates it; null where it was delegated before, or is not. A sweep of nothing puts the contract there that such
-- addresses are delegated to.
alter table sweep add column delegation_nonce bigint check (delegation_nonce >= 0);
alter table sweep drop constraint sweep_amount_check, drop constraint sweep_check;
alter table sweep add constraint sweep_amount check (amount > 0 or (amount = 0 and nonce is null and delegation_nonce is null))
  not valid;
alter table sweep add constraint sweep_cost check (cost >= 0 and (cost < amount or cost = 0 and amount = 0)) not valid;
