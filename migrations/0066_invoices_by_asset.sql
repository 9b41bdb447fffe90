-- A coin that few buyers choose, or none: its list must not be looked for in all the others.
create index invoice_by_asset on invoice (merchant_id, livemode, asset, id);
