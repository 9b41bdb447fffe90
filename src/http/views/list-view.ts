import { API_PREFIX } from '../api/route.ts'

/** A page of a list as the API shows it; `path` is the route's. */
export function listView<Item>(path: string, hasMore: boolean, data: Item[]) {
  return { object: 'list' as const, url: API_PREFIX + path, has_more: hasMore, data }
}
