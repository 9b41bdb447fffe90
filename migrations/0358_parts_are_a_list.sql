-- What a payment was summed from is a list: with anything else in its place no audit could be run.
alter table transfer add constraint transfer_parts_are_a_list
  check (parts is null or jsonb_typeof(parts) = 'array') not valid;
