/** Names sort by time. */
const NAME = /^paylink-\d{8}T\d{6}Z-[0-9a-f]{8}\.tar\.gz\.age$/

export const backupName = (madeAt: Date, unique: string): string =>
  `paylink-${madeAt.toISOString().replace(/[-:]|\.\d+/g, '')}-${unique}.tar.gz.age`

/** When a backup was made, by its name. */
export const backupTimeOf = (name: string): Date =>
  new Date(name.replace(/^paylink-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z-.*$/, '$1-$2-$3T$4:$5:$6Z'))

export const isBackupName = (name: string): boolean => NAME.test(name)
