-- A question that the signer cannot answer, since the database contradicts its journal, goes behind all others.
grant update (asked_at) on journal_question to paylink_signer;
