import { openPool, type Pool } from '../../src/postgres/pool.ts'
import type { DatabaseRole } from '../../src/postgres/roles.ts'
import type { TestDatabase } from '../support/database.ts'

/** A clock that the program and its database share, and that stands still until it is set. */
export type SimulatedClock = {
  readonly now: () => Date
  set(atMs: number): Promise<void>
  /** Connections of a role to whom `now()` is this clock. */
  poolFor(role: DatabaseRole): Pool
  close(): Promise<void>
}

/** Functions in a schema that is searched before PostgreSQL's own stand in for its clock. */
export async function createSimulatedClock(database: TestDatabase, startMs: number): Promise<SimulatedClock> {
  await database.owner.query(
    `create schema sim;
     create table sim.clock (at timestamptz not null);
     create function sim.now() returns timestamptz language sql stable as 'select at from sim.clock';
     create function sim.clock_timestamp() returns timestamptz language sql stable as 'select at from sim.clock';
     grant usage on schema sim to public;
     grant select on sim.clock to public`,
  )
  await database.owner.query('insert into sim.clock values ($1)', [new Date(startMs)])
  let atMs = startMs
  const pools: Pool[] = []
  return {
    now: () => new Date(atMs),
    set: async (nextMs) => {
      atMs = nextMs
      await database.owner.query('update sim.clock set at = $1', [new Date(nextMs)])
    },
    poolFor: (role) => {
      const url = new URL(database.urls[role])
      url.searchParams.set('options', '-c jit=off -c search_path=sim,pg_catalog,public')
      const pool = openPool({
        connectionString: url.href,
        applicationName: 'paylink-test',
        max: 4,
        onError: () => {},
      })
      pools.push(pool)
      return pool
    },
    close: async () => void (await Promise.all(pools.map((pool) => pool.end()))),
  }
}
