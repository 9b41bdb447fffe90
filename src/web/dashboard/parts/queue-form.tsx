import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { endpointsOf } from '../api/reads.ts'
import type { QueuedDelivery } from '../api/types.ts'
import { useChange } from '../app/changes.ts'
import { useMode } from '../app/session.ts'
import { Button } from './button.tsx'
import { Select } from './field.tsx'
import { ProblemNote } from './note.tsx'

/** The endpoints that can be sent to now. */
export function useReadyEndpoints() {
  const mode = useMode()
  const endpoints = useQuery(endpointsOf(mode))
  return (endpoints.data?.data ?? []).filter(({ status }) => status === 'enabled')
}

/** Sends one event to an endpoint of choice. */
export function QueueForm({ eventId }: { eventId: string }) {
  const ready = useReadyEndpoints()
  const [chosen, setChosen] = useState('')
  const endpointId = chosen === '' ? (ready[0]?.id ?? '') : chosen
  const queue = useChange<string, QueuedDelivery>(
    (endpoint_id) => ({ path: `/events/${eventId}/queue`, body: { endpoint_id } }),
    { done: 'It is on its way.' },
  )
  if (ready.length === 0) {
    return (
      <p>
        There is no verified endpoint to send it to. <Link to="/developers/webhooks">Add or verify one</Link>{' '}
        first.
      </p>
    )
  }
  return (
    <div className="row-form">
      <Select label="Endpoint" value={endpointId} onChange={(event) => setChosen(event.target.value)}>
        {ready.map(({ id, url }) => (
          <option key={id} value={id}>
            {url}
          </option>
        ))}
      </Select>
      <Button busy={queue.isPending} onClick={() => queue.mutate(endpointId)}>
        Send
      </Button>
      <ProblemNote error={queue.error} />
    </div>
  )
}
