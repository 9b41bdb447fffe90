-- The page of the shop to which a buyer goes back from ours; null where the shop named none. The sessions' is in 0108: no
-- migration holds two tables that requests take one after the other.
alter table invoice add column return_url text;
