// @module-tag postgresql
import { execFileSync } from 'node:child_process'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openPool, type Pool } from '../../src/postgres/pool.ts'
import { createStandby, type ReadFrom, withReadMoment } from '../../src/postgres/standby.ts'
import type { Tx } from '../../src/postgres/transaction.ts'
import { type DebianPostgres, openDebianPostgres } from '../support/debian-postgres.ts'
import { until } from '../support/until.ts'

/**
 * A primary that was set back to a snapshot of its disk: on the same timeline, and its standby has replayed what the primary
 * no longer has.
 */

const TENANT = { merchantId: `mer_${'0'.repeat(26)}`, livemode: false }

let postgres: DebianPostgres
let primary: Pool
let second: Pool
beforeAll(async () => {
  postgres = await openDebianPostgres()
  const data = await postgres.initialize('first')
  const { port, url } = await postgres.start(data)
  primary = open(url('postgres'))
  await primary.query('create table sale (id int)')
  await sell(1)
  const standbyData = `${postgres.folder}/second`
  await postgres.program('pg_basebackup', '-d', url('postgres'), '-D', standbyData, '-R', '-c', 'fast')
  second = open((await postgres.start(standbyData)).url('postgres'))
  const again = () => postgres.start(data, [`port=${port}`])
  await postgres.crash(data)
  execFileSync('cp', ['-a', data, `${data}.snapshot`])
  await again()
  await sell(2)
  await primary.query('insert into sale select 0 from generate_series(1, 10000)')
  await until(async () => (await salesOf(second)).includes(2), { what: 'the standby has what gets lost' })
  await postgres.crash(data)
  execFileSync('rm', ['-r', data])
  execFileSync('mv', [`${data}.snapshot`, data])
  await again()
  await sell(3)
})
afterAll(async () => {
  await Promise.all([primary?.end(), second?.end()])
  await postgres?.remove()
})

const open = (connectionString: string): Pool =>
  openPool({ connectionString, applicationName: 'test', max: 2, onError: () => {} })

async function sell(id: number): Promise<void> {
  const isSold = () =>
    primary.query('insert into sale values ($1)', [id]).then(
      () => true,
      () => false,
    )
  await until(isSold)
}

const salesOf = async (db: Pick<Tx, 'query'>): Promise<number[]> =>
  (await db.query<{ id: number }>('select id from sale where id > 0 order by id')).rows.map(({ id }) => id)

test('a standby answers no list with what its primary has lost', async () => {
  expect(await salesOf(second)).toEqual([1, 2])
  expect(await createStandby(second).read(primary, TENANT, salesOf)).toBeNull()
})

test('an audit does not read what its primary has lost', async () => {
  const reads: ReadFrom[] = []
  const sales = await withReadMoment({ pool: primary, standby: second }, 1, (tx, from) => {
    reads.push(from)
    return salesOf(tx)
  })
  expect(sales).toEqual([1, 3])
  expect(reads.map(({ pool }) => pool === primary)).toEqual([true])
  expect(reads[0]?.passedOver?.message).toContain('more than the primary')
})
