-- What a payer signed is carried to the chain, at the hot wallet's cost, once a node says that it goes through. Only the
-- watcher asks nodes.
create trigger x402_is_tried_by_the_watcher before insert on x402_authorization for each row
  when (new.status in ('checked', 'settled')) execute function require_watcher();
create trigger x402_is_followed_by_the_watcher before update on x402_authorization for each row
  when (new.status <> old.status and new.status <> 'refused') execute function require_watcher();
