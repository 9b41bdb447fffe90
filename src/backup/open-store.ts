import type { BackupTarget } from '../config/config-backup.ts'
import type { BackupStore } from './backup-store.ts'
import { folderStore } from './folder-store.ts'
import { s3Store } from './s3-store.ts'

export const openStore = (target: BackupTarget): BackupStore =>
  target.kind === 'folder' ? folderStore(target.path) : s3Store(target)
