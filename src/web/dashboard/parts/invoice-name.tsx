import { useQuery } from '@tanstack/react-query'
import { linksOf } from '../api/reads.ts'
import type { Invoice } from '../api/types.ts'
import { useMode } from '../app/session.ts'
import { invoiceName } from './invoice-title.ts'

/** As `invoiceName`; without reference and customer it is called after the payment link that it was bought by. */
export function InvoiceName({ invoice }: { invoice: Invoice }) {
  const { payment_link_id, external_reference, order_reference, customer_email } = invoice
  const isNamed = (external_reference ?? order_reference ?? customer_email) !== null
  const links = useQuery({
    ...linksOf(useMode(), { limit: '100' }),
    enabled: !isNamed && payment_link_id !== null,
  })
  const link = isNamed ? undefined : links.data?.data.find(({ id }) => id === payment_link_id)
  return link?.name ?? invoiceName(invoice)
}
