import type { Pool } from '../../src/postgres/pool.ts'

const COLUMNS = `(select string_agg(quote_ident(attname), ', ' order by attnum) from pg_attribute
  where attrelid = format('public.%I', name)::regclass and attnum > 0 and not attisdropped and attgenerated = '')`

const forEachTable = (body: string): string => `do $$ declare name text; columns text; begin
  for name in select c.relname from pg_class c
    where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' order by c.relname
  loop columns := ${COLUMNS}; ${body} end loop; end $$`

const KEEP = forEachTable(
  `execute format('create table kept.%1$I as select %2$s from public.%1$I', name, columns);`,
)
const SET_BACK = forEachTable(`execute format('delete from public.%I', name);
  execute format('insert into public.%1$I (%2$s) select %2$s from kept.%1$I', name, columns);`)

/** Keeps what every table holds now; what it gives sets the database back to that, as a restored backup would. */
export async function copyDatabase(owner: Pool): Promise<() => Promise<void>> {
  await owner.query('drop schema if exists kept cascade')
  await owner.query('create schema kept')
  await owner.query(KEEP)
  return async () => {
    const client = await owner.connect()
    try {
      // What a backup says is taken as it stands: no trigger writes anything beside it.
      await client.query(`begin; set local session_replication_role = replica`)
      await client.query(SET_BACK)
      await client.query('commit')
    } finally {
      client.release()
    }
  }
}
