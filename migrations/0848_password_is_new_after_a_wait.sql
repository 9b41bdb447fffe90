-- As in 0844, of passwords.
create trigger password_is_still_new after insert or update of password on person_account for each row
  execute function refuse_password_gone();
