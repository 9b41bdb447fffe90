import { useQuery } from '@tanstack/react-query'
import { noticesOf } from '../api/reads.ts'
import type { Notices, UpdateNotices } from '../api/types.ts'
import { useChange } from '../app/changes.ts'
import { useAccount, useMode } from '../app/session.ts'
import { Checkbox } from '../parts/field.tsx'
import { ProblemNote } from '../parts/note.tsx'
import { Card } from '../parts/page.tsx'
import { Skeleton } from '../parts/table.tsx'

const NOTICES: { readonly [kind in keyof UpdateNotices]-?: string } = {
  paid: 'An invoice was paid',
  attention: 'An invoice needs attention',
  endpoint_disabled: 'A webhook endpoint was disabled, because its receiver is gone',
  sign_in: 'Somebody signed in as you from a new place (told for as long as one of your shops has this on)',
}
const KINDS = Object.keys(NOTICES) as (keyof UpdateNotices)[]
/** The others go to owners and admins alone. */
const OF_EVERYBODY = KINDS.filter((kind) => kind === 'sign_in')

/** Which e-mails this person wants. Each switch holds at once: nothing is lost by either. */
export function NoticesCard() {
  const mode = useMode()
  const { person, isManager } = useAccount()
  const notices = useQuery(noticesOf(mode))
  const change = useChange<UpdateNotices, Notices>((body) => ({ method: 'PATCH', path: '/notices', body }), {
    done: 'Saved.',
  })
  const shown = notices.data
  return (
    <Card title="E-mails to you">
      <p className="quiet">
        To {person.email}
        {isManager
          ? `; of payments and webhooks in live mode alone${person.emailVerified ? '' : ', once you have confirmed that address'}`
          : ''}
        .
      </p>
      {shown === undefined ? notices.error === null ? <Skeleton lines={2} /> : null : null}
      {shown === undefined
        ? null
        : (isManager ? KINDS : OF_EVERYBODY).map((kind) => (
            <Checkbox
              key={kind}
              label={NOTICES[kind]}
              checked={shown[kind]}
              onChange={(event) => change.mutate({ [kind]: event.target.checked })}
            />
          ))}
      <ProblemNote error={change.error ?? notices.error} />
    </Card>
  )
}
