-- With the API's login a request without its sealed words could be kept, which delivery workers neither send nor end, and a
-- hundred of which kept all other receipts from being sent.
update receipt_request set ended_at = now(), outcome = 'refused' where sealed is null and ended_at is null;
alter table receipt_request add constraint receipt_request_open_is_sealed
  check (sealed is not null or ended_at is not null) not valid;
