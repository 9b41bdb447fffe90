import type { EventFormats } from '../delivery/event-format.ts'
import { GREENFIELD_EVENTS } from './btcpay/greenfield-webhook.ts'
import { CHARGE_EVENTS } from './coinbase-commerce/charge.ts'

/** The webhook formats of other services, by the name that an endpoint gives as its `format`. */
export const EVENT_FORMATS = {
  btcpay: GREENFIELD_EVENTS,
  coinbase_commerce: CHARGE_EVENTS,
} satisfies EventFormats
