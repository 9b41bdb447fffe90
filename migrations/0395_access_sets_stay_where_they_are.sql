-- A person without a list of second factors has none; a shop without a list of members has none. So the API's role may
-- change what a list says, which breaks its seal, but not whose it is.
revoke update on access_set from paylink_api;
grant update (entries, seal) on access_set to paylink_api;
