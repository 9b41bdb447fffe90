import type { Keyspace } from '../../core/assets.ts'
import type { Queryable } from '../pool.ts'
import type { Tenant } from '../transaction.ts'

/** Rows in memory at a time while a million programs are loaded. */
const PAGE_ROWS = 10_000

/**
 * Programs of all addresses of a keyspace with an index above `afterIndex`, page by page: assigned or not,
 * expired or not, all stay watched for ever. Served by the primary key of address.
 */
export async function* streamPrograms(
  db: Queryable,
  keyspace: Keyspace,
  afterIndex: number,
): AsyncGenerator<{ readonly programs: Buffer[]; readonly lastIndex: number }> {
  let after = afterIndex
  for (;;) {
    const { rows } = await db.query<{ idx: number; program: Buffer }>(
      'select idx, program from address where keyspace = $1 and idx > $2 order by idx limit $3',
      [keyspace, after, PAGE_ROWS],
    )
    const last = rows.at(-1)
    if (last === undefined) return
    after = last.idx
    yield { programs: rows.map((row) => row.program), lastIndex: after }
    if (rows.length < PAGE_ROWS) return
  }
}

export type ProgramOwner = {
  /** Hex. */
  readonly program: string
  readonly tenant: Tenant
  readonly invoiceId: string
}

/** Whose these programs (hex) are; those of no invoice are missing. Served by deposit_address_by_program. */
export async function findProgramOwners(
  db: Queryable,
  keyspace: Keyspace,
  programs: readonly string[],
): Promise<ProgramOwner[]> {
  if (programs.length === 0) return []
  const { rows } = await db.query<{
    program: Buffer
    merchant_id: string
    livemode: boolean
    invoice_id: string
  }>(
    `select program, merchant_id, livemode, invoice_id from deposit_address
     where keyspace = $1 and program = any($2)`,
    [keyspace, programs.map((program) => Buffer.from(program, 'hex'))],
  )
  return rows.map((row) => ({
    program: row.program.toString('hex'),
    tenant: { merchantId: row.merchant_id, livemode: row.livemode },
    invoiceId: row.invoice_id,
  }))
}
