-- Which turn of the lead is a network's latest: whoever led before and has not noticed yet commits nothing more.
alter table network_watch add column turn uuid;
