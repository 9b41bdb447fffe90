alter table outcome_seal validate constraint outcome_seal_kind;
