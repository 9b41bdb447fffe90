import { sdk } from './sdk'

/** StartOS stops the service before it copies the volume, so that PostgreSQL's files belong together. */
export const { createBackup, restoreInit } = sdk.setupBackups(async () => sdk.Backups.ofVolumes('main'))
