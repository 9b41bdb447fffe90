-- The page of the shop to which a buyer goes back from ours; null where the shop named none.
alter table invoice add column return_url text;
alter table checkout_session add column return_url text;
