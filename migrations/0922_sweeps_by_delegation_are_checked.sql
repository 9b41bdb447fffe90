alter table sweep validate constraint sweep_amount;
alter table sweep validate constraint sweep_cost;
