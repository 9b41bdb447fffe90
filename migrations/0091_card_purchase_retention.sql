-- Where a buyer lives, and the session that they paid in, are of no use once the purchase is over: the workers that keep
-- retention clear both, and can read and change nothing else of a purchase.
alter table card_purchase alter column place drop not null;
create index card_purchase_by_age on card_purchase (created_at) where place is not null;
grant select (merchant_id, id, created_at, place), update (place, url) on card_purchase to paylink_delivery;
create policy workers_all on card_purchase to paylink_delivery using (true) with check (true);

-- A destination is taken off the list and never changed otherwise: its address was shown to whoever approved payouts.
revoke update on payout_destination from paylink_api;
grant update (removed_at) on payout_destination to paylink_api;
