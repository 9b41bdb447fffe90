import type { QueryClient } from '@tanstack/react-query'
import { organizationsQuery, people, type Session, sessionQuery } from '../api/people.ts'

/** The shop that the sign-in shows; another of theirs where they were taken out of that one; null where there is none. */
export async function chosenShop(queries: QueryClient, { session }: Session): Promise<string | null> {
  const shops = await queries.ensureQueryData(organizationsQuery)
  const chosen = shops.find(({ id }) => id === session.activeOrganizationId)
  if (chosen !== undefined) return chosen.id
  const [other] = shops
  if (other === undefined) return null
  await people.chooseOrganization(other.id)
  await queries.invalidateQueries({ queryKey: sessionQuery.queryKey })
  await queries.fetchQuery(sessionQuery)
  return other.id
}
