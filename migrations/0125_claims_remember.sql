-- A claim leaves in the row what it found there: when the delivery was due, its place in the lane should it be given
-- back unsent, and whether the try before was never recorded. So the claim answers from the rows it changed alone. It
-- used to join them with what it had found, and a plan made while the queue is empty compares every row with every
-- other.
alter table delivery
  add column was_due_at timestamptz,
  add column lapsed boolean not null default false;
