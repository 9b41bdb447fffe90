import type { z } from 'zod'
import type { AttemptRow } from '../../db/delivery/event-recovery.ts'
import type { attemptView } from '../../wire/event.ts'

/** A delivery attempt as the API shows it. */
export function attemptViewOf(row: AttemptRow): z.output<typeof attemptView> {
  return {
    id: row.id,
    object: 'attempt',
    event_id: row.event_id,
    endpoint_id: row.endpoint_id,
    event_type: row.event_type,
    number: row.number,
    http_status: row.http_status,
    // Written from the sender's own list of codes, which a test compares with the schema's.
    code: row.code as z.output<typeof attemptView>['code'],
    duration_ms: row.duration_ms,
    created_at: row.created_at.toISOString(),
  }
}
