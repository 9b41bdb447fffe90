/** An invoice's fields before anything came to it. */
export const NOTHING_HAPPENED_YET = {
  expiredAtMs: null,
  expiryReading: null,
  cancelledAtMs: null,
  paidAtMs: null,
  acceptedAtMs: null,
  reorgDismissed: false,
  announced: {
    detected: false,
    paid: false,
    overpaid: false,
    expired: false,
    reorged: false,
    partialSums: [],
  },
  payments: [],
  blockSums: [],
} as const

/** Those of an invoice that came by no link and no page. */
export const NO_ORIGIN = {
  amountSource: 'merchant',
  orderReference: null,
  checkoutSessionId: null,
  paymentLinkId: null,
  returnUrl: null,
  reopenedFrom: null,
} as const
