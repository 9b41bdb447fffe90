-- Whoever fills a shop with managers crowds out none who was there before: warnings go to those known longest.
alter table known_manager add column known_since timestamptz not null default now();
