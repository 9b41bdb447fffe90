import type { Clock } from '../clock.ts'
import { listenFor } from '../db/notify.ts'
import type { Pool } from '../db/pool.ts'
import { readCheckout } from '../flows/read-checkout.ts'
import type { NetworkBoard } from '../http/network-board.ts'
import type { HttpPart } from '../http/server.ts'
import type { Log } from '../log.ts'
import type { SandboxControl } from '../sandbox/sandbox-control.ts'
import type { Keyring } from '../secrets/keyring.ts'
import { type CheckoutDeps, createCheckoutApp } from '../web/checkout/app.ts'
import type { RunningRole } from './role.ts'

export type CheckoutRole = RunningRole & {
  readonly part: HttpPart
  /** Ends the open streams, so that the server can stop; pages then poll the next one. */
  endStreams(): void
}

/** The buyers' pages, told of changes by the database's notifications. */
export function openCheckout(deps: {
  pool: Pool
  clock: Clock
  log: Log
  keyring: Keyring
  networks: NetworkBoard
  listenUrl: string
  sandbox: SandboxControl | null
}): CheckoutRole {
  const { app, streams } = createCheckoutApp({
    clock: deps.clock,
    log: deps.log,
    readCheckout: (token) => readCheckout(deps, token),
    ...(deps.sandbox === null ? {} : { sandbox: testPanelOf(deps.sandbox) }),
  })
  const listener = listenFor(deps.listenUrl, {
    onInvoiceChanged: (id) => streams.invoiceChanged(id),
    onReconnect: () => streams.refreshAll(),
    onLost: (error) =>
      deps.log.warn({ err: error }, 'checkout pages are not told of changes and poll meanwhile'),
  })
  return {
    part: {
      name: 'checkout',
      owns: (path) => path.startsWith('/i/'),
      fetch: (request) => app.fetch(request),
    },
    endStreams: () => streams.close(),
    stop: () => listener.close(),
  }
}

/** The sandbox as the test panel uses it: what cannot be paid is an error. */
function testPanelOf(control: SandboxControl): NonNullable<CheckoutDeps['sandbox']> {
  return {
    serves: control.serves,
    payInvoice: async (request) => {
      const paid = await control.payInvoice(request)
      if (paid.kind === 'sandbox_not_available') throw new Error(paid.reason)
      if (paid.kind === 'not_found') throw new Error('the invoice is gone')
      return paid
    },
  }
}
