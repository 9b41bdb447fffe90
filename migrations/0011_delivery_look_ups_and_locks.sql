-- Ids compare byte by byte everywhere, or an index on one serves no look-up by the other: with its database's own
-- collation this column made every claim read all secrets of a merchant to find one endpoint's.
alter table endpoint_secret alter column endpoint_id type text collate "C";

-- Whoever disables an endpoint passes over deliveries that others hold, instead of waiting for one who may be waiting
-- for that endpoint. Passing over is a row lock, and PostgreSQL lets only those lock who may update a column.
grant update (due_at) on delivery to paylink_api;
