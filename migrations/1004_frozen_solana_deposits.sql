-- An address on Solana has 32 bytes.
alter table frozen_deposit drop constraint frozen_deposit_address_check;
alter table frozen_deposit add constraint frozen_deposit_address_check check (octet_length(address) in (20, 32)) not valid;
