import { randomUUID } from 'node:crypto'
import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

// One file an order, in place of your database.
const fileOf = (reference) => join(process.env.ORDERS_DIR ?? '.', `${reference}.json`)

export const newOrder = () => ({ reference: `order-${randomUUID()}`, usd_amount: '12.50', status: 'open' })

/** Null for what is no order of ours. */
export async function loadOrder(reference) {
  if (!/^order-[0-9a-f-]{36}$/.test(reference ?? '')) return null
  return JSON.parse(await readFile(fileOf(reference), 'utf8'))
}

export async function saveOrder(order) {
  const whole = `${fileOf(order.reference)}.${randomUUID()}`
  await writeFile(whole, JSON.stringify(order))
  await rename(whole, fileOf(order.reference))
}
