import { listenFor } from '../postgres/notify.ts'
import type { RoleUrls } from '../postgres/open-database.ts'
import { needsDatabase, type RoleName } from '../roles/role.ts'
import { Activity } from '../runtime/activity.ts'
import type { Log } from '../runtime/log.ts'
import type { StopList } from './stop-list.ts'

const DATABASE_ROLES_OF = {
  api: 'api',
  checkout: 'api',
  watcher: 'watcher',
  delivery: 'delivery',
  signer: 'signer',
} as const

/** What the process rests by: any notification in the database ends its rest. */
export function followActivity(
  { roles, urls, log }: { roles: ReadonlySet<RoleName>; urls: RoleUrls; log: Log },
  stops: StopList,
): Activity {
  const activity = new Activity()
  const own = [...roles].filter(needsDatabase).find((role) => role !== 'signer' || roles.size === 1)
  if (own === undefined) return activity
  const listener = listenFor(urls[DATABASE_ROLES_OF[own]], {
    onActivity: activity.stir,
    onConnect: activity.hear,
    onLost: (error) => {
      activity.deafen()
      log.warn({ err: error }, 'background loops get no notifications and poll meanwhile')
    },
  })
  stops.add('the notifications of activity', () => listener.close())
  return activity
}
