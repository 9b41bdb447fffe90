import {
  type RecordedProviderUpdate,
  type ReportedProviderUpdate,
  recordProviderUpdate,
} from '../../flows/record-provider-update.ts'
import type { WebhookReader } from '../../onramp/webhook-reading.ts'
import type { Pool } from '../../postgres/pool.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Log } from '../../runtime/log.ts'
import { ERRORS } from '../../wire/errors.ts'
import { ApiProblem } from '../api/problem.ts'
import { readBody } from '../api/read-body.ts'
import { jsonResponse } from '../json-response.ts'
import type { HttpPart } from '../server.ts'

type OnrampWebhookDeps = {
  /** Connections of the API's role. */
  readonly pool: Pool
  readonly clock: Clock
  readonly log: Log
  readonly notifier: { invoiceChanged(invoiceId: string): void }
}

const PATH = /^\/onramp\/([a-z]{1,20})\/webhook$/

/**
 * Receives the card providers' webhooks, at `/onramp/<provider>/webhook`. They change only the words on the buyer's
 * page; nothing here credits anything.
 */
export function createOnrampWebhookPart(
  deps: OnrampWebhookDeps,
  readers: ReadonlyMap<string, WebhookReader>,
): HttpPart {
  const answer = async (request: Request): Promise<Response> => {
    const provider = PATH.exec(new URL(request.url).pathname)?.[1] ?? ''
    const read = readers.get(provider)
    if (read === undefined) return jsonResponse(404, { error: 'not_found' })
    if (request.method !== 'POST')
      return jsonResponse(405, { error: 'method_not_allowed' }, { allow: 'POST' })
    const body = await readBody(request, true)
    const event = read({ headers: request.headers, body }, deps.clock().getTime())
    if (event.kind === 'rejected') {
      deps.log.warn({ provider, reason: event.reason }, 'a card provider’s webhook was refused')
      return jsonResponse(400, { error: 'invalid_signature' })
    }
    const recorded = event.kind === 'reported' ? await recordProviderUpdate(deps, event.update) : null
    if (event.kind === 'reported' && recorded !== null) logMismatch(deps.log, event.update, recorded)
    return jsonResponse(200, { received: true })
  }
  return {
    name: 'onramp',
    owns: (path) => PATH.test(path),
    fetch: async (request) => {
      try {
        return await answer(request)
      } catch (error) {
        if (error instanceof ApiProblem)
          return jsonResponse(ERRORS[error.code].status, { error: error.code }, error.headers)
        // The provider sends it again.
        deps.log.error({ err: error }, 'a card provider’s webhook was not recorded')
        return jsonResponse(503, { error: 'service_unavailable' }, { 'retry-after': '5' })
      }
    },
  }
}

/** A purchase that is not ours may be another installation's with the same account; an address that is not its own may not. */
function logMismatch(
  log: Log,
  { provider, purchaseId }: ReportedProviderUpdate,
  { kind }: RecordedProviderUpdate,
): void {
  if (kind === 'foreign')
    log.warn(
      { provider, purchaseId },
      'a card provider reported a purchase to an address that is not its own',
    )
}
