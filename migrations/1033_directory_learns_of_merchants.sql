create trigger note_directory_change after insert or delete or update of name on organization
for each row execute function note_directory_change('merchant', 'id');
