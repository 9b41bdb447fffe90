-- The daily limit of payouts is asked for again when one is approved.
create index payout_approved_of_a_day on payout (merchant_id, livemode, asset, approved_at) where approved_at is not null;

-- A question to a card provider is answered, and the buyer leaves by it and is told how it went; what was asked, for which
-- invoice and to which address, never changes.
revoke update on card_purchase from paylink_api;
grant update (status, answer, url, fresh_until, left_at, news, news_of, news_at) on card_purchase to paylink_api;
