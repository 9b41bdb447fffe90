-- As 0650 of single amounts: one row with an amount that is none stops whoever reads the others.
alter table solana_chore add constraint solana_chore_lamports_are_numbers check ('NaN' <> all (lamports)) not valid;
