-- How far each network's watcher matches a keyspace: it has every address up to this index. An address is given
-- out only when every network that is watched matches it, so that one process may derive and another watch, and one
-- keyspace may serve several networks. No row: nobody watches the network here.
create table network_watch (
  network text primary key,
  keyspace text not null,
  -- Highest index of the keyspace that is matched; -1 before the first address.
  through bigint not null check (through >= -1),
  updated_at timestamptz not null
);
grant select on network_watch to paylink_api;
grant select, insert, update, delete on network_watch to paylink_watcher;

-- Until now an address came into the pool only after its network's watcher matched it, and a watcher reads all
-- addresses before its first block: what there is, is watched.
insert into network_watch (network, keyspace, through, updated_at)
select network, network, coalesce((select max(idx) from address where keyspace = network), -1), now()
from network_state;
