-- Where a price came from, for whoever books what nobody quoted a price for before it came: deposits to permanent addresses.
alter table asset_price add column evidence json check (octet_length(evidence::text) <= 65536);
grant update (evidence) on asset_price to paylink_api;
