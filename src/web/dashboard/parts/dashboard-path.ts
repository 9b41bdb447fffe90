/** Where a shop's dashboard is for another browser, which may not know the cell that the shop's id names (docs/cells.md). */
export function dashboardPathOf(merchantId: string): string {
  const [, tag] = /^mer_.{10}g(..)/.exec(merchantId) ?? []
  return tag === undefined ? '/dashboard' : `/cells/${tag}/dashboard`
}
