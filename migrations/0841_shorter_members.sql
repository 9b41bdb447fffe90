-- As in 0838.
alter table organization_member drop constraint organization_member_sizes, add constraint organization_member_sizes
  check (greatest(octet_length(id), octet_length(organization_id), octet_length(role), octet_length(seal),
    octet_length(user_id)) <= 4096) not valid;
