/**
 * Names sort by time. The first eight digits behind it are the installation's, which several may share a place; the
 * names of earlier releases lack them.
 */
const NAME = /^paylink-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z-(?:([0-9a-f]{8})-)?[0-9a-f]{8}\.tar\.gz\.age$/

/** `unique`: eight hexadecimal digits, as is `installation`. */
export const backupName = (createdAt: Date, installation: string, unique: string): string =>
  `paylink-${createdAt.toISOString().replace(/[-:]|\.\d+/g, '')}-${installation}-${unique}.tar.gz.age`

export const isBackupName = (name: string): boolean => NAME.test(name)

/** When a backup was made, by its name. */
export function backupTimeOf(name: string): Date {
  const [, year, month, day, hour, minute, second] = NAME.exec(name) ?? []
  return new Date(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`)
}

/** Whose backup it is, by its name; null where an earlier release gave the name. */
export const installationOf = (name: string): string | null => NAME.exec(name)?.[7] ?? null

/**
 * The newest backup of each installation in a list that is sorted by time. Names of earlier releases count as one more
 * installation's, unless all others are newer: then they are what was made before an upgrade.
 */
export function newestOfEach(names: readonly string[]): readonly string[] {
  const newest = new Map(names.map((name) => [installationOf(name), name]))
  const last = newest.get(null)
  const first = names.find((name) => installationOf(name) !== null)
  if (last !== undefined && first !== undefined && last < first) newest.delete(null)
  return [...newest.values()].sort()
}
