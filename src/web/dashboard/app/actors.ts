import { useQuery } from '@tanstack/react-query'
import { membersQuery } from '../api/people.ts'
import { useAccount } from './session.ts'

/** What somebody who did something here is called: a person by name, an API key by the end of its id. */
export function useActorNames(): (actor: string) => string {
  const { merchantId } = useAccount()
  const members = useQuery(membersQuery(merchantId))
  return (actor) =>
    members.data?.find(({ userId }) => userId === actor)?.user.name ??
    (actor.startsWith('key_') ? `API key …${actor.slice(-8)}` : actor)
}
