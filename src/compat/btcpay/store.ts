import type { Context } from 'hono'
import { type KeyHolder, type OwnApi, Refused } from '../own-api.ts'

/** The store of the path must be the merchant of the key: there is no other that it could see. */
export async function storeOf(c: Context, api: OwnApi): Promise<KeyHolder> {
  const holder = await api.holder()
  if (c.req.param('store') === holder.merchantId) return holder
  throw new Refused(404, { code: 'store-not-found', message: 'The store was not found' })
}
