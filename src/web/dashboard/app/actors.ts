import { useQuery } from '@tanstack/react-query'
import { membersQuery } from '../api/people.ts'
import { apiKeysOf } from '../api/reads.ts'
import { useAccount, useMode } from './session.ts'

/** What somebody who did something here is called: a person or an API key by name, else a key by the end of its id. */
export function useActorNames(): (actor: string) => string {
  const { merchantId } = useAccount()
  const members = useQuery(membersQuery(merchantId))
  const keys = useQuery(apiKeysOf(useMode(), { limit: '100' }))
  return (actor) =>
    members.data?.find(({ userId }) => userId === actor)?.user.name ??
    keys.data?.data.find(({ id }) => id === actor)?.name ??
    (actor.startsWith('key_') ? `API key …${actor.slice(-8)}` : actor)
}
