import { useQuery } from '@tanstack/react-query'
import { assetsOf } from '../api/reads.ts'
import { useMode } from './session.ts'

/** Whether nothing can be sold in the page's mode: it is live, and this server follows no live network. */
export function useIsWithoutNetworks(): boolean {
  const mode = useMode()
  const { data } = useQuery({ ...assetsOf('live'), enabled: mode === 'live' })
  return mode === 'live' && data?.data.every(({ network_status }) => network_status === null) === true
}
