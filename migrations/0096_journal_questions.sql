-- A payout or sweep that the chain seems to have no use for any more is given up only after the signer has looked into its
-- journal for what a database that was set back has forgotten of it. The watcher asks, the signer answers.
create table journal_question (
  merchant_id text not null,
  -- Payout or sweep.
  intent_id text not null collate "C",
  livemode boolean not null,
  network text not null,
  asked_at timestamptz not null,
  -- All that the journal has of it is in the database since then.
  answered_at timestamptz,
  primary key (merchant_id, intent_id)
);
create index journal_question_open on journal_question (asked_at) where answered_at is null;

grant select, insert on journal_question to paylink_watcher;
grant select, update (answered_at) on journal_question to paylink_signer;
alter table journal_question enable row level security;
alter table journal_question force row level security;
create policy owner_all on journal_question to current_user using (true) with check (true);
create policy workers_all on journal_question to paylink_watcher, paylink_signer using (true) with check (true);
