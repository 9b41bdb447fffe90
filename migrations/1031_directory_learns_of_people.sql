create trigger note_directory_change after insert or delete or update of email, email_verified on person
for each row execute function note_directory_change('person', 'email');
