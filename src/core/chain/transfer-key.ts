/**
 * A transfer's key on its network. It includes the invoice: on account-based chains one transaction may credit many
 * addresses, and has no outputs to tell them apart.
 */
export function keyOf(transfer: {
  readonly invoiceId: string
  readonly txid: string
  readonly outputIndex: number
}): string {
  return `${transfer.invoiceId}:${transfer.txid}:${transfer.outputIndex}`
}
