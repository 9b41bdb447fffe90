import type { EventFormats } from '../delivery/event-format.ts'
import { GREENFIELD_EVENTS } from './btcpay/greenfield-event.ts'
import { CHARGE_EVENTS } from './coinbase-commerce/charge-event.ts'

/** How receivers that were written for older services are told, by the format that an endpoint names. */
export const EVENT_FORMATS = {
  btcpay: GREENFIELD_EVENTS,
  coinbase_commerce: CHARGE_EVENTS,
} satisfies EventFormats
