import type { Clock } from '../clock.ts'
import type { Pool } from '../db/pool.ts'
import { type ClaimedDelivery, isStillSendable, releaseDeliveries } from '../db/queries/deliveries.ts'
import { secretContext } from '../db/queries/endpoint-secrets.ts'
import type { Log } from '../log.ts'
import type { Keyring } from '../secrets/keyring.ts'
import type { Claimed } from './claim.ts'
import { type Clients, clientFor } from './clients.ts'
import type { LaneWindows } from './lane-windows.ts'
import type { Outcome } from './record-outcomes.ts'
import { RECEIVER_DEADLINE_MS, type SendOutcome, sendEvent } from './send.ts'

/**
 * The claim itself saw an eligible endpoint. Should this process have slept between the claim and the POST, it
 * looks again: the endpoint may be disabled and the lease another's.
 */
const RECHECK_AFTER_MS = 200

export type Dispatcher = {
  inFlight(): number
  /** Sends each claimed delivery; outcomes come by `onOutcome`. */
  send(claimed: Claimed): void
  /** Gives claimed deliveries back unsent. */
  release(claimed: Claimed): Promise<void>
  /** Resolves when nothing is in flight, or after `withinMs`. */
  settle(withinMs: number): Promise<void>
}

export function createDispatcher(deps: {
  pool: Pool
  clock: Clock
  log: Log
  keyring: Keyring
  clients: Clients
  windows: LaneWindows
  onOutcome: (outcome: Outcome) => void
  /** Half of what was in flight at the last claim has ended. */
  onRoom: () => void
}): Dispatcher {
  const sending = new Set<Promise<void>>()
  let ringAt = 0

  const sendOne = async (delivery: ClaimedDelivery, claimed: Claimed): Promise<boolean> => {
    if (performance.now() - claimed.claimedAt > RECHECK_AFTER_MS) {
      const sendable = await isStillSendable(deps.pool, delivery, claimed.leaseId, RECEIVER_DEADLINE_MS)
      if (!sendable) {
        await releaseDeliveries(deps.pool, [{ ...delivery, leaseId: claimed.leaseId }])
        return false
      }
    }
    const result = await sendClaimed(deps, delivery)
    deps.onOutcome({ delivery, leaseId: claimed.leaseId, result })
    return result.code === 'ok'
  }

  const track = (delivery: ClaimedDelivery, claimed: Claimed): void => {
    deps.windows.started(delivery.endpointId)
    const run = sendOne(delivery, claimed)
      .catch((error: unknown) => {
        // Only the database can have failed here, before anything was sent: the lease lapses and it goes out again.
        deps.log.warn({ err: error, delivery: delivery.id }, 'a claimed delivery was not sent')
        return false
      })
      .then((ok) => {
        sending.delete(run)
        deps.windows.finished(delivery.endpointId, ok)
        if (sending.size <= ringAt) deps.onRoom()
      })
    sending.add(run)
  }

  return {
    inFlight: () => sending.size,
    send: (claimed) => {
      for (const delivery of claimed.deliveries) track(delivery, claimed)
      ringAt = Math.floor(sending.size / 2)
    },
    release: async (claimed) => {
      const held = claimed.deliveries.map((delivery) => ({ ...delivery, leaseId: claimed.leaseId }))
      if (held.length > 0) await releaseDeliveries(deps.pool, held)
    },
    settle: async (withinMs) => {
      let timer: NodeJS.Timeout | undefined
      const timeout = new Promise((resolve) => {
        timer = setTimeout(resolve, withinMs)
      })
      await Promise.race([Promise.all(sending), timeout])
      clearTimeout(timer)
    },
  }
}

async function sendClaimed(
  deps: { clock: Clock; log: Log; keyring: Keyring; clients: Clients },
  delivery: ClaimedDelivery,
): Promise<SendOutcome> {
  try {
    const http = clientFor(deps.clients, delivery.livemode)
    const secrets = delivery.secrets.map((secret) =>
      deps.keyring.open(secret.sealed, secretContext(delivery.merchantId, secret.id)).toString('utf8'),
    )
    const result = await sendEvent(
      { http, clock: deps.clock },
      {
        lane: delivery.endpointId,
        url: delivery.url,
        eventId: delivery.eventId,
        schemaVersion: delivery.schemaVersion,
        body: delivery.body,
        secrets,
      },
    )
    if (result.code === 'internal') logInternal(deps.log, delivery, result.error)
    return result
  } catch (error) {
    logInternal(deps.log, delivery, error)
    return { code: 'internal', httpStatus: null, retryAfterMs: null, durationMs: 0, error }
  }
}

function logInternal(log: Log, delivery: ClaimedDelivery, error: unknown): void {
  log.error(
    { err: error, delivery: delivery.id, endpoint: delivery.endpointId },
    'a delivery failed by a fault of ours',
  )
}
