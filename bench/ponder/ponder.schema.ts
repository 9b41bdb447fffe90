import { onchainTable } from 'ponder'

export const payment = onchainTable('payment', (table) => ({
  id: table.text().primaryKey(),
  address: table.hex().notNull(),
  amount: table.bigint().notNull(),
  block: table.bigint().notNull(),
}))
