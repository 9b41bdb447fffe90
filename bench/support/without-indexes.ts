import type pg from 'pg'

/**
 * Runs `work` while tables have none of the indexes that no constraint needs, and makes these again: where millions of rows
 * are written, that takes a fraction of the time.
 */
export async function withoutIndexes<Result>(
  client: pg.Client,
  tables: readonly string[],
  work: () => Promise<Result>,
): Promise<Result> {
  await client.query(`set maintenance_work_mem = '1GB'`)
  const { rows } = await client.query<{ name: string; definition: string }>(INDEXES, [tables])
  for (const { name } of rows) await client.query(`drop index ${name}`)
  const result = await work()
  for (const { definition } of rows) await client.query(definition)
  return result
}

const INDEXES = `
  select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as definition from pg_index
  where indrelid = any($1::text[]::regclass[]) and not exists (select from pg_constraint where conindid = indexrelid)`
