-- As in 0819: nothing that is read for all merchants is too long to be read.
alter table person add constraint person_sizes
  check (greatest(octet_length(email), octet_length(id), octet_length(image), octet_length(name),
    octet_length(seal)) <= 65536) not valid;
