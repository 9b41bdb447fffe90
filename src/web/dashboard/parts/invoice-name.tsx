import { useQuery } from '@tanstack/react-query'
import { linksOf } from '../api/reads.ts'
import type { Invoice } from '../api/types.ts'
import { useMode } from '../app/session.ts'
import { invoiceName, invoiceTitle } from './invoice-title.ts'

/** The name of the payment link that it was bought by, while nothing else says what it is for. */
function useLinkName(invoice: Invoice): string | undefined {
  const { payment_link_id, external_reference, order_reference, customer_email } = invoice
  const isAsked =
    payment_link_id !== null && (external_reference ?? order_reference ?? customer_email) === null
  const links = useQuery({ ...linksOf(useMode(), { limit: '100' }), enabled: isAsked })
  return isAsked ? links.data?.data.find(({ id }) => id === payment_link_id)?.name : undefined
}

/** As `invoiceName`; without reference and customer it is called after its payment link. */
export const InvoiceName = ({ invoice }: { invoice: Invoice }) => useLinkName(invoice) ?? invoiceName(invoice)

/** As `invoiceTitle`; without reference and customer it is called after its payment link. */
export const InvoiceTitle = ({ invoice }: { invoice: Invoice }) => invoiceTitle(invoice, useLinkName(invoice))
