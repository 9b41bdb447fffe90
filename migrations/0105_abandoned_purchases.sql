-- A card provider that is asked about a purchase may know of none long after the buyer went there.
alter table card_purchase drop constraint card_purchase_news_check;
alter table card_purchase add constraint card_purchase_news_check
  check (news in ('abandoned', 'pending', 'completed', 'failed'));
