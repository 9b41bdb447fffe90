/** Names sort by time. */
const NAME = /^paylink-\d{8}T\d{6}Z-[0-9a-f]{8}\.tar\.gz\.age$/

export const backupName = (madeAt: Date, unique: string): string =>
  `paylink-${madeAt.toISOString().replace(/[-:]|\.\d+/g, '')}-${unique}.tar.gz.age`

export const isBackupName = (name: string): boolean => NAME.test(name)
