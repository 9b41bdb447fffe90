-- What each process may touch. The group roles are made by db/roles before migrations run. Row level security
-- is the second wall: the API sees one merchant in one mode, named for the transaction in paylink.merchant_id
-- and paylink.livemode; the watcher and the delivery workers serve every merchant.

grant usage on schema public to paylink_api, paylink_watcher, paylink_delivery, paylink_signer;

-- API and checkout.
grant select on merchant, payment_rules, api_key, account_key, network_state to paylink_api;
grant select on address to paylink_api;
grant update (assigned_at) on address to paylink_api;
grant select, insert on deposit_address to paylink_api;
grant select, insert, update on invoice to paylink_api;
grant select, update on transfer to paylink_api;
grant select, insert, delete on idempotency_key to paylink_api;
grant select, insert, update on webhook_endpoint, endpoint_secret to paylink_api;
grant delete on endpoint_secret to paylink_api;
grant select, insert on event to paylink_api;
grant select, insert, delete on event_awaiting to paylink_api;
grant select, insert, delete on delivery to paylink_api;
grant select, update, delete on delivery_lane to paylink_api;
grant select on attempt to paylink_api;
grant select, insert on ledger_transfer, ledger_entry to paylink_api;
grant select on ledger_balance to paylink_api;

-- Watcher: derives addresses, follows chains, records what they say.
grant select on merchant, payment_rules, webhook_endpoint to paylink_watcher;
grant select, insert, update on network_state to paylink_watcher;
grant select on account_key, deposit_address to paylink_watcher;
grant update (next_index) on account_key to paylink_watcher;
grant select, insert, delete on address to paylink_watcher;
grant select, update on invoice to paylink_watcher;
grant select, insert, update on transfer to paylink_watcher;
grant select, insert on event, event_awaiting, delivery to paylink_watcher;
grant select, insert on ledger_transfer, ledger_entry to paylink_watcher;
grant select on ledger_balance to paylink_watcher;

-- Delivery workers: send what others wrote, and forget what is old.
grant select, update on webhook_endpoint to paylink_delivery;
grant select, delete on endpoint_secret to paylink_delivery;
grant select on merchant to paylink_delivery;
grant select, delete on event to paylink_delivery;
grant select, insert, delete on event_awaiting to paylink_delivery;
grant select, insert, update, delete on delivery, delivery_lane to paylink_delivery;
grant select, insert on attempt to paylink_delivery;
revoke execute on function attempt_keep_partitions from public;
grant execute on function attempt_keep_partitions to paylink_delivery;
grant select, delete on idempotency_key to paylink_delivery;

-- Signer: publishes account keys; after a restored backup, moves the indexes on and empties the pool.
grant select, insert on account_key to paylink_signer;
grant update (next_index) on account_key to paylink_signer;
grant select, delete on address to paylink_signer;

-- Row level security on every tenant table.
do $$
declare
  tenant_table text;
begin
  foreach tenant_table in array array[
    'payment_rules', 'invoice', 'deposit_address', 'transfer', 'idempotency_key', 'webhook_endpoint',
    'endpoint_secret', 'event', 'event_awaiting', 'delivery', 'delivery_lane', 'attempt', 'ledger_transfer', 'ledger_entry',
    'ledger_balance'
  ] loop
    execute format('alter table %I enable row level security', tenant_table);
    execute format('alter table %I force row level security', tenant_table);
    execute format('create policy owner_all on %I to current_user using (true) with check (true)', tenant_table);
    execute format(
      'create policy workers_all on %I to paylink_watcher, paylink_delivery using (true) with check (true)',
      tenant_table
    );
    execute format(
      'create policy api_one_tenant on %I to paylink_api
         using (merchant_id = current_setting(''paylink.merchant_id'', true)
                and livemode = (current_setting(''paylink.livemode'', true) = ''true''))
         with check (merchant_id = current_setting(''paylink.merchant_id'', true)
                and livemode = (current_setting(''paylink.livemode'', true) = ''true''))',
      tenant_table
    );
  end loop;
end
$$;
