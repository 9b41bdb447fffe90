import { expect, test } from 'vitest'
import { checkEndpointUrl, ENDPOINT_URL_LENGTH_MAX } from './endpoint-url.ts'

const strict = (url: string) => {
  const check = checkEndpointUrl(url, { allowPrivate: false })
  return check.kind === 'accepted' ? 'accepted' : check.reason
}

test('https on a host name is accepted, on port 443 or above 1023', () => {
  for (const url of [
    'https://shop.example/hooks',
    'https://shop.example',
    'https://shop.example:443/hooks?a=1',
    'https://shop.example:8443/hooks',
    'https://shop.example:1024/',
    'https://bücher.example/hooks',
    'https://1.2.3.4.example/hooks',
    'HTTPS://Shop.Example/hooks',
  ]) {
    expect([url, strict(url)]).toEqual([url, 'accepted'])
  }
})

test('an IP address is refused in every spelling', () => {
  for (const host of [
    '127.0.0.1',
    '127.1',
    '127.0.1',
    '0x7f.1',
    '0x7f000001',
    '0x7F.0x0.0x0.0x1',
    '0177.0.0.1',
    '0177.0.0.01',
    '017700000001',
    '2130706433',
    '127.0.0.1.',
    '127.1.',
    '127。0。0。1',
    '127．0．0．1',
    '１２７.０.０.１',
    '①②⑦.⓪.⓪.①',
    '%31%32%37.0.0.1',
    '0',
    '0.0.0.0',
    '8.8.8.8',
    '[::1]',
    '[::]',
    '[0:0:0:0:0:0:0:1]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[::127.0.0.1]',
    '[64:ff9b::7f00:1]',
    '[2002:7f00:1::]',
    '[fe80::1]',
    '[2606:4700::1111]',
  ]) {
    expect([host, strict(`https://${host}/hooks`)]).toEqual([host, 'ip_literal'])
  }
})

test('other schemes, credentials, low ports and treacherous spellings are refused', () => {
  expect(strict('http://shop.example/hooks')).toBe('scheme')
  expect(strict('ftp://shop.example/hooks')).toBe('scheme')
  expect(strict('file:///etc/passwd')).toBe('scheme')
  expect(strict('javascript:alert(1)')).toBe('scheme')
  expect(strict('https://user@shop.example/')).toBe('credentials')
  expect(strict('https://user:word@shop.example/')).toBe('credentials')
  expect(strict('https://@shop.example/')).toBe('credentials')
  expect(strict('https://:@shop.example/')).toBe('credentials')
  for (const port of [0, 22, 25, 80, 442, 444, 1023])
    expect(strict(`https://shop.example:${port}/`)).toBe('port')
  for (const url of [
    '',
    'shop.example',
    '//shop.example/',
    'https:shop.example',
    'https:/shop.example',
    'https:///shop.example',
    'https://',
    'https://shop.example\\@evil.example/',
    ' https://shop.example/',
    'https://shop.example/ ',
    'ht\ntps://shop.example/',
    'https://shop\t.example/',
    'https://shop.example/\u0000',
    'https://shop.example:99999/',
    'https://256.256.256.256/',
    'https://[::1/',
  ]) {
    expect([url, strict(url)]).toEqual([url, 'malformed'])
  }
})

test('a URL of 2,048 characters is accepted and one of 2,049 is not', () => {
  const base = 'https://shop.example/'
  expect(strict(base + 'a'.repeat(ENDPOINT_URL_LENGTH_MAX - base.length))).toBe('accepted')
  expect(strict(base + 'a'.repeat(ENDPOINT_URL_LENGTH_MAX - base.length + 1))).toBe('too_long')
})

test('where private receivers are allowed, http, addresses and any port are taken, credentials are not', () => {
  const loose = (url: string) => checkEndpointUrl(url, { allowPrivate: true }).kind
  for (const url of [
    'http://localhost:3000/hooks',
    'http://127.0.0.1/hooks',
    'https://[::1]:22/',
    'http://10.0.0.1/',
  ]) {
    expect([url, loose(url)]).toEqual([url, 'accepted'])
  }
  expect(loose('http://user:word@localhost/')).toBe('refused')
  expect(loose('ftp://localhost/')).toBe('refused')
})
