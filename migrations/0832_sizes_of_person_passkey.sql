-- As in 0819: nothing that is read for all merchants is too long to be read.
alter table person_passkey add constraint person_passkey_sizes
  check (greatest(octet_length(aaguid), octet_length(credential_id), octet_length(device_type),
    octet_length(id), octet_length(name), octet_length(public_key), octet_length(seal),
    octet_length(transports), octet_length(user_id)) <= 65536) not valid;
