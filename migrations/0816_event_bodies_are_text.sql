-- Delivery claims events of many shops in one statement, which reads each body as JSON in UTF-8: one that is not would stop
-- the deliveries of all.
alter table event add constraint event_body_is_json check (convert_from(body, 'UTF8')::json is not null) not valid;
