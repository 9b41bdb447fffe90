/** What moves a balance, in a shopkeeper's words; more kinds may come. */
const TYPES: { readonly [type: string]: string } = {
  deposit: 'Payment',
  deposit_void: 'Payment reorganized out',
  payout: 'Payout',
  payout_return: 'Payout returned',
  payout_sent: 'Payout sent',
  network_fee: 'Network fee',
  service_fee: 'Service fee',
  service_fee_return: 'Service fee returned',
  shortfall: 'Missing after a reorganization',
  shortfall_repaid: 'Missing amount repaid',
}
export const typeLabel = (type: string): string => TYPES[type] ?? type.replaceAll('_', ' ')
