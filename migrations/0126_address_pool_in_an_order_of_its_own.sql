-- The pool in an order that no other index has: assigned_at is null in every row of it, and yet whoever asks in this
-- order is led here alone. In that of the primary key the planner, where its statistics knew a pool of which little was
-- given out, walked past every address that had been given out since.
drop index address_pool;
create index address_pool on address (keyspace, assigned_at, idx) where assigned_at is null;
