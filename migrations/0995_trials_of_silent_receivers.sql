-- Which event of a verification its receiver took last, and whether the receiver answers 2xx to what it refuses too.
alter table webhook_endpoint
  add column trial_taken text,
  add column refuses_silently boolean not null default false,
  add constraint webhook_endpoint_trial_taken check (length(trial_taken) <= 64) not valid;
grant update (trial_taken, refuses_silently) on webhook_endpoint to paylink_api;
