-- Which of several installations behind one address this is. Ids that were made carry none, and are of the first.
alter table installation add column cell smallint not null default 0 check (cell between 0 and 1023);
