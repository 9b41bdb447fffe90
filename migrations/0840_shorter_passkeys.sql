-- As in 0838: the signer reads those of a hundred managers at once. The rest of the row, such as its name, is read alone.
alter table person_passkey add constraint person_passkey_key_sizes
  check (greatest(octet_length(credential_id), octet_length(id), octet_length(public_key),
    octet_length(user_id)) <= 4096) not valid;
