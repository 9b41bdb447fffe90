-- As in 0819: nothing that is read for all merchants is too long to be read.
alter table installation_secret add constraint installation_secret_sizes
  check (octet_length(key_check) <= 65536) not valid;
