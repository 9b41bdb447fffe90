import { useQuery } from '@tanstack/react-query'
import { merchantOf } from '../api/reads.ts'
import { useMode } from './session.ts'

/** Whether this server sends emails; undefined until that is known. */
export function useSendsMail(): boolean | undefined {
  const { data } = useQuery(merchantOf(useMode()))
  return data?.sends_mail
}

/** Whether this server sends no emails: links and messages are in its log, where only whoever runs it sees them. */
export const useIsWithoutMail = (): boolean => useSendsMail() === false
