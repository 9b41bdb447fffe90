import type { Tx } from '../../postgres/transaction.ts'

type SavedView = {
  readonly list: string
  readonly name: string
  readonly query: { readonly [filter: string]: string }
}
type Owner = { readonly merchantId: string; readonly userId: string }

/** The views that a person keeps in a shop, oldest first; they are few. By primary key. */
export async function listSavedViews(tx: Tx, { merchantId, userId }: Owner): Promise<SavedView[]> {
  const { rows } = await tx.query<SavedView>(
    `select list, name, query from saved_view where merchant_id = $1 and user_id = $2 order by created_at, name`,
    [merchantId, userId],
  )
  return rows
}

/** Keeps a view in place of one of the same name. By primary key. */
export async function putSavedView(tx: Tx, owner: Owner, view: SavedView, now: Date): Promise<void> {
  await tx.query(
    `insert into saved_view (merchant_id, user_id, list, name, query, created_at) values ($1, $2, $3, $4, $5, $6)
     on conflict (merchant_id, user_id, list, name) do update set query = $5`,
    [owner.merchantId, owner.userId, view.list, view.name, JSON.stringify(view.query), now],
  )
}

/** Removes a view; nothing where there is none. By primary key. */
export async function deleteSavedView(
  tx: Tx,
  owner: Owner,
  { list, name }: Pick<SavedView, 'list' | 'name'>,
): Promise<void> {
  await tx.query(
    'delete from saved_view where merchant_id = $1 and user_id = $2 and list = $3 and name = $4',
    [owner.merchantId, owner.userId, list, name],
  )
}
