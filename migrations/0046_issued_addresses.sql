-- Who serves an address reads the batch that the signer signed it in, and checks the signature by a key that is kept
-- outside the database.
grant select on address_batch to paylink_api;
