import { useQuery } from '@tanstack/react-query'
import { noticesOf } from '../api/reads.ts'
import type { Notices, UpdateNotices } from '../api/types.ts'
import { useChange } from '../app/changes.ts'
import { useMode } from '../app/session.ts'
import { Checkbox } from '../parts/field.tsx'
import { ProblemNote } from '../parts/note.tsx'
import { Card } from '../parts/page.tsx'
import { Bones } from '../parts/table.tsx'

const NOTICES: { readonly [kind in keyof UpdateNotices]-?: string } = {
  paid: 'An invoice was paid',
  attention: 'An invoice needs attention',
  endpoint_disabled: 'A webhook endpoint was disabled',
  sign_in: 'Somebody signed in as you',
}
const KINDS = Object.keys(NOTICES) as (keyof UpdateNotices)[]

/** Which letters this person wants. Each switch holds at once: nothing is lost by either. */
export function NoticesCard() {
  const mode = useMode()
  const notices = useQuery(noticesOf(mode))
  const change = useChange<UpdateNotices, Notices>((body) => ({ method: 'PATCH', path: '/notices', body }), {
    done: 'Saved.',
  })
  const shown = notices.data
  return (
    <Card title="Letters to you">
      {shown === undefined ? notices.error === null ? <Bones lines={2} /> : null : null}
      {shown === undefined
        ? null
        : KINDS.map((kind) => (
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
