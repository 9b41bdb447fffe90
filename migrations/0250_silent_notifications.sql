-- Why a network's node is asked in short intervals although its notifications are configured: none of them is heard.
alter table network_state add column notifications_silent text;
