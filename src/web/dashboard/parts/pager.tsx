import { Link } from '@tanstack/react-router'
import type { List } from '../api/types.ts'

/** Where a keyset page stands, as the address keeps it. */
type Position = { readonly after?: string | undefined; readonly before?: string | undefined }

const PAGE_SIZE = '25'

/** A position as a list's parameters. */
export const pageQuery = ({ after, before }: Position) => ({
  limit: PAGE_SIZE,
  starting_after: after,
  ending_before: before,
})

/** Newer and older. The API says whether there is more in the direction that was asked for; back where we came from there is. */
export function Pager({
  list,
  position,
}: {
  list: List<{ readonly id: string }> | undefined
  position: Position
}) {
  const first = list?.data[0]?.id
  const last = list?.data.at(-1)?.id
  if (list === undefined || first === undefined) return null
  const isBackwards = position.before !== undefined
  const hasNewer = isBackwards ? list.has_more : position.after !== undefined
  const hasOlder = isBackwards || list.has_more
  if (!hasNewer && !hasOlder) return null
  return (
    <nav className="pager" aria-label="Older and newer">
      {hasNewer ? (
        <Link className="button plain" to="." search={(old) => ({ ...old, before: first, after: undefined })}>
          Newer
        </Link>
      ) : null}
      {hasOlder ? (
        <Link className="button plain" to="." search={(old) => ({ ...old, after: last, before: undefined })}>
          Older
        </Link>
      ) : null}
    </nav>
  )
}
