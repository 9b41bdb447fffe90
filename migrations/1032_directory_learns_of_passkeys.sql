create trigger note_directory_change after insert or delete or update of credential_id on person_passkey
for each row execute function note_directory_change('passkey', 'credential_id');
