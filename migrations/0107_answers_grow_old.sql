-- An answer of the journal counts for minutes: a database may be set back after it. The watcher asks anew.
grant update (asked_at, answered_at) on journal_question to paylink_watcher;
