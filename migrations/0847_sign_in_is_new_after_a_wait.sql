-- An insert that waits for a key until a removal is committed passed the guard before it: the guard looks once more after it.
create trigger sign_in_is_still_new after insert on person_session for each row execute function refuse_access_gone();
