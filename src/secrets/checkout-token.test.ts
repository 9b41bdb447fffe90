import { expect, test } from 'vitest'
import { newId } from '../runtime/new-id.ts'
import { invoiceToken, readInvoiceToken } from './checkout-token.ts'
import { openKeyring } from './keyring.ts'

const keyring = openKeyring(Buffer.alloc(32, 7))
const now = new Date('2026-01-01T00:00:00Z')
const reference = { merchantId: newId('merchant', now), livemode: false, invoiceId: newId('invoice', now) }
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

test('a token names its invoice, and is the same each time', () => {
  const token = invoiceToken(keyring, reference)
  expect(token).toMatch(/^[A-Za-z0-9_-]{66}$/)
  expect(invoiceToken(keyring, reference)).toBe(token)
  expect(readInvoiceToken(keyring, token)).toEqual(reference)
  const live = { ...reference, livemode: true }
  expect(readInvoiceToken(keyring, invoiceToken(keyring, live))).toEqual(live)
})

test('a change of any byte, to any value, makes a token worthless', () => {
  const bytes = Buffer.from(invoiceToken(keyring, reference), 'base64url')
  for (let index = 0; index < bytes.length; index++) {
    for (let change = 1; change < 256; change++) {
      const changed = Buffer.from(bytes)
      changed[index] = (changed[index] ?? 0) ^ change
      expect(readInvoiceToken(keyring, changed.toString('base64url'))).toBeNull()
    }
  }
})

test('another spelling of the same bytes is not the token', () => {
  const token = invoiceToken(keyring, reference)
  for (let index = 0; index < token.length; index++) {
    for (const character of ALPHABET) {
      if (character === token[index]) continue
      expect(readInvoiceToken(keyring, token.slice(0, index) + character + token.slice(index + 1))).toBeNull()
    }
  }
  for (const odd of [
    '',
    '=',
    `${token}=`,
    `${token}==`,
    ` ${token}`,
    `${token}\n`,
    token.slice(1),
    `${token}A`,
  ]) {
    expect(readInvoiceToken(keyring, odd)).toBeNull()
  }
})

test('the MAC of one invoice does not serve another invoice, merchant or mode', () => {
  const token = Buffer.from(invoiceToken(keyring, reference), 'base64url')
  const others = [
    { ...reference, livemode: true },
    { ...reference, merchantId: newId('merchant', now) },
    { ...reference, invoiceId: newId('invoice', now) },
  ]
  for (const other of others) {
    const body = Buffer.from(invoiceToken(keyring, other), 'base64url').subarray(0, 33)
    expect(
      readInvoiceToken(keyring, Buffer.concat([body, token.subarray(33)]).toString('base64url')),
    ).toBeNull()
  }
})

test('a token of another installation is worthless', () => {
  const other = openKeyring(Buffer.alloc(32, 8))
  expect(readInvoiceToken(other, invoiceToken(keyring, reference))).toBeNull()
})

test('an id of another kind gets no token', () => {
  expect(() => invoiceToken(keyring, { ...reference, invoiceId: reference.merchantId })).toThrow()
})
