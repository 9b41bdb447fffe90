/**
 * Whether this tab came by a link into one cell, `/cells/03/dashboard/…`, and so signs in there: other tabs sign in where
 * the server's directory leads an address.
 */
const KEY = 'paylink.here'
const PARAM = 'here'

/** Before the first page is shown: what the link's redirect added is kept for the tab and taken out of the address. */
export function noteHere(): void {
  const url = new URL(window.location.href)
  if (!url.searchParams.has(PARAM)) return
  window.sessionStorage.setItem(KEY, '1')
  url.searchParams.delete(PARAM)
  window.history.replaceState(null, '', url)
}

export const isHere = (): boolean => window.sessionStorage.getItem(KEY) !== null
export const leaveHere = (): void => window.sessionStorage.removeItem(KEY)
