import type { z } from 'zod'
import type { eventView } from '../../wire/event.ts'

/** An event as the API shows it: its body, as it was stored when it was made. */
export function eventViewOf(body: Uint8Array): z.output<typeof eventView> {
  // The body is ours, written by eventBody and never changed; its shape is the schema's.
  return JSON.parse(Buffer.from(body).toString('utf8')) as z.output<typeof eventView>
}
