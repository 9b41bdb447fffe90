import type { PaymentRules, UpdatePaymentRules } from '../api/types.ts'
import { useChange } from './changes.ts'

/** Saves a part of the shop's payment rules. */
export const useSaveRules = () =>
  useChange<UpdatePaymentRules, PaymentRules>((body) => ({ method: 'PATCH', path: '/payment-rules', body }), {
    done: 'Saved. New invoices follow it.',
  })
