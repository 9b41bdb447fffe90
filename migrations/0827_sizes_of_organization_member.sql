-- As in 0819: nothing that is read for all merchants is too long to be read.
alter table organization_member add constraint organization_member_sizes
  check (greatest(octet_length(id), octet_length(organization_id), octet_length(role), octet_length(seal),
    octet_length(user_id)) <= 65536) not valid;
