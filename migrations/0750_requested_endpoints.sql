-- The API key that asked for this endpoint in live mode, where only a person may add one; null for every other. Nothing is
-- sent to it before a person has verified it, as to any endpoint.
alter table webhook_endpoint add column requested_by text;
