import type { z } from 'zod'
import { refusedNotices } from '../../db/people/notices.ts'
import type { Tx } from '../../postgres/transaction.ts'
import type { noticesView } from '../../wire/dashboard.ts'

/** Which e-mails a person gets. */
export async function noticesViewOf(
  tx: Tx,
  merchantId: string,
  personId: string,
): Promise<z.output<typeof noticesView>> {
  const refused = new Set(await refusedNotices(tx, merchantId, personId))
  return {
    object: 'notices',
    paid: !refused.has('paid'),
    attention: !refused.has('attention'),
    endpoint_disabled: !refused.has('endpoint_disabled'),
    sign_in: !refused.has('sign_in'),
  }
}
