import { raw } from 'hono/html'
import { LRUCache } from 'lru-cache'
import { encode } from 'uqr'
import { ASSETS } from '../../core/assets.ts'
import { paymentUri } from '../../core/checkout/payment-uri.ts'
import { walletChain, walletTransaction } from '../../core/checkout/wallet-transaction.ts'
import { formatCoinAmount, readableAmount } from '../../core/money.ts'
import { coin } from './amounts.ts'
import type { CheckoutPage } from './checkout-page.ts'
import { coinMark } from './coin-mark.tsx'
import { Icon } from './icons.tsx'
import { fill, fillParts } from './language.ts'

/** For a wallet on this device: the payment URI, the wallets of the browser, and a wallet's own app. */
export function OpenWallet({ page }: { page: CheckoutPage }) {
  return (
    <div class="for-wallet">
      <a class="button" id="open-wallet" href={uriOf(page)}>
        <Icon name="wallet" />
        {page.language.messages.open_wallet}
      </a>
      <Wallets page={page} />
      <WalletApp page={page} />
    </div>
  )
}

/**
 * A wallet's own app for phones: it opens this page in a browser of its own, where its button pays, so that no amount
 * and no address stand in the link.
 * https://docs.metamask.io/metamask-connect/evm/guides/metamask-exclusive/use-deeplinks/
 * https://docs.phantom.com/phantom-deeplinks/other-methods/browse
 */
const WALLET_APPS = {
  evm: {
    wallet: 'MetaMask',
    urlFor: ({ host, pathname }: URL) => `https://link.metamask.io/dapp/${host}${pathname}`,
  },
  solana: {
    wallet: 'Phantom',
    urlFor: ({ href, origin }: URL) =>
      `https://phantom.app/ul/browse/${encodeURIComponent(href)}?ref=${encodeURIComponent(origin)}`,
  },
} as const

function WalletApp({ page }: { page: CheckoutPage }) {
  const url = new URL(page.url)
  const kind = walletWords(page)?.['data-kind']
  // These apps open https alone, and have no test chains.
  if (kind === undefined || !page.view.livemode || url.protocol !== 'https:') return null
  const { wallet, urlFor } = WALLET_APPS[kind]
  return (
    <a class="button second wallet-app" id="wallet-app" href={urlFor(url)}>
      {fill(page.language.messages.wallet_app, { wallet })}
    </a>
  )
}

/** For a wallet on another device: two QR codes. An exchange asks for the address alone, which then comes first. */
export function QrCodes({ page }: { page: CheckoutPage }) {
  const { messages } = page.language
  const isAddressFirst = page.method === 'exchange'
  return (
    <fieldset class="tabs">
      <legend class="unseen">{messages.qr_label}</legend>
      <input type="radio" name="qr" id="qr-payment" checked={!isAddressFirst} />
      <label for="qr-payment">{messages.qr_payment}</label>
      <input type="radio" name="qr" id="qr-address" checked={isAddressFirst} />
      <label for="qr-address">{messages.qr_address}</label>
      <div class="qr qr-payment">{raw(qrCode(page, uriOf(page), messages.qr_payment_alt))}</div>
      <div class="qr qr-address">{raw(qrCode(page, page.view.address, messages.qr_address_alt))}</div>
    </fieldset>
  )
}

/** What goes wrong where an exchange sends: the network, its fee, and the time that it takes. */
export function FromExchange({ page: { view, otherCoins, language } }: { page: CheckoutPage }) {
  const { messages } = language
  const { asset, remaining } = view
  const { exchange_network: only, exchange_network_or: or } = messages
  const network = (
    <strong>
      <bdi>{ASSETS[asset].networkName}</bdi>
    </strong>
  )
  const amount = (
    <strong>
      <bdi dir="ltr">{coin(asset, remaining)}</bdi>
    </strong>
  )
  return (
    <ul class="for-exchange">
      <li>{fillParts(otherCoins.some(({ available }) => available) ? or : only, { network })}</li>
      <li>{fillParts(messages.exchange_amount, { amount })}</li>
      <li>{messages.exchange_parts}</li>
    </ul>
  )
}

function uriOf({ view: { asset, livemode, address, identity, remaining } }: CheckoutPage): string {
  return paymentUri({ asset, livemode, address, identity, amount: remaining })
}

/** Holds what to ask a wallet for. The script adds a button here for each wallet that the browser has. */
function Wallets({ page }: { page: CheckoutPage }) {
  const { messages } = page.language
  const { asset } = page.view
  const payment = walletWords(page)
  if (payment === null) return null
  // Only the browser knows the wallet's name.
  const values = { wallet: '{wallet}', network: ASSETS[asset].networkName }
  return (
    <div
      id="wallets"
      class="wallets scripted"
      hidden
      {...payment}
      data-pay={fill(messages.wallet_pay, values)}
      data-confirm={fill(messages.wallet_confirm, values)}
      data-sent={fill(messages.wallet_sent, values)}
      data-rejected={fill(messages.wallet_rejected, values)}
      data-unknown={fill(messages.wallet_unknown, values)}
      data-silent={fill(messages.wallet_silent, values)}
      data-failed={fill(messages.wallet_failed, values)}
    />
  )
}

type WalletWords = {
  readonly 'data-kind': keyof typeof WALLET_APPS
  readonly [word: `data-${string}`]: string
}

/** What a wallet of the browser is asked for; null for coins that such wallets do not have. */
function walletWords({ view, token }: CheckoutPage): WalletWords | null {
  const { asset, livemode, address, identity, remaining: amount } = view
  if (ASSETS[asset].keyFamily === 'solana') {
    return {
      'data-kind': 'solana',
      'data-to': address,
      'data-value': String(amount),
      'data-from': `./${token}/solana-transfer`,
    }
  }
  const transaction = walletTransaction({ asset, livemode, address, identity, amount })
  if (transaction === null) return null
  const chain = walletChain(transaction.chainId)
  return {
    'data-kind': 'evm',
    'data-chain': transaction.chainId,
    'data-to': transaction.to,
    'data-value': transaction.value,
    'data-data': transaction.data,
    ...(chain === null ? {} : { 'data-add': JSON.stringify(chain) }),
  }
}

/** For everyone else: the bare amount and the whole address, to copy. */
export function CopyFields({ page }: { page: CheckoutPage }) {
  const { messages } = page.language
  const { asset, address, remaining } = page.view
  const { symbol, networkName, decimals } = ASSETS[asset]
  const amount = formatCoinAmount(remaining, decimals)
  return (
    <>
      <CopyField
        page={page}
        name="amount"
        label={messages.amount_label}
        action={messages.copy_amount}
        text={amount}
      >
        {readableAmount(amount, symbol)} <span class="unit">{symbol}</span>
      </CopyField>
      <CopyField
        page={page}
        name="address"
        label={fill(messages.address_label, { network: networkName })}
        action={messages.copy_address}
        text={address}
      >
        <Address address={address} />
      </CopyField>
    </>
  )
}

type CopyFieldProps = {
  page: CheckoutPage
  name: string
  label: string
  action: string
  /** What the button copies: exactly this, without unit or spaces. */
  text: string
  children?: unknown
}

function CopyField({ page, name, label, action, text, children }: CopyFieldProps) {
  return (
    <div class="field">
      <div>
        <span class="label">{label}</span>
        <bdi class={`value ${name}`} id={`${name}-value`} dir="ltr">
          {children}
        </bdi>
      </div>
      <button type="button" class="copy scripted" id={`copy-${name}`} data-copy={text} aria-label={action}>
        <Icon name="copy" />
        <span>{page.language.messages.copy}</span>
      </button>
    </div>
  )
}

const ADDRESS_ENDS = 8

/** Shows the whole address, because a lookalike has the same ends, and marks the ends, because people compare those. */
function Address({ address }: { address: string }) {
  return (
    <>
      <b>{address.slice(0, ADDRESS_ENDS)}</b>
      {address.slice(ADDRESS_ENDS, -ADDRESS_ENDS)}
      <b>{address.slice(-ADDRESS_ENDS)}</b>
    </>
  )
}

/** ISO/IEC 18004 asks for four light modules around the code; several scanners need them. */
const QUIET_ZONE = 4
/** Drawing takes about 1.5 ms, so what is drawn is kept; some 4 KB each. */
const CACHE_ENTRIES_MAX = 1_000
const cache = new LRUCache<string, Drawing>({ max: CACHE_ENTRIES_MAX })

/** Modules a side, quiet zone included, and the dark ones as an SVG path. */
type Drawing = { readonly size: number; readonly d: string }

/** How much of a code's width the coin's sign may cover: about 3 % of the area, of the 15 % that level M restores. */
const MARK_SHARE = 0.17

/**
 * The SVG of a QR code, black on white in both colour schemes, with the coin's sign in its middle. `label` is what a
 * screen reader says.
 */
function qrCode({ view: { asset } }: CheckoutPage, text: string, label: string): string {
  const { size, d } = drawingOf(text)
  const width = Math.floor((size - 2 * QUIET_ZONE) * MARK_SHARE) | 1
  const from = (size - width) / 2
  const room = `<path fill="#fff" d="M${from} ${from}h${width}v${width}h-${width}z"/>`
  const mark = coinMark(
    asset,
    `x="${from + 0.5}" y="${from + 0.5}" width="${width - 1}" height="${width - 1}"`,
  )
  return `<svg role="img" aria-label="${escapeAttribute(label)}" viewBox="0 0 ${size} ${size}"><path fill="#fff" d="M0 0h${size}v${size}H0z"/><path shape-rendering="crispEdges" d="${d}"/>${room}${mark}</svg>`
}

function drawingOf(text: string): Drawing {
  const drawing = cache.get(text) ?? draw(text)
  cache.set(text, drawing)
  return drawing
}

/** One horizontal run of dark modules is one rectangle: that is a third of the bytes of a square each. */
function draw(text: string): Drawing {
  const { data, size } = encode(text, { ecc: 'M', boostEcc: true, border: QUIET_ZONE })
  const runs: string[] = []
  for (let y = 0; y < size; y++) {
    const row = data[y] ?? []
    for (let x = 0; x < size; x++) {
      if (row[x] !== true) continue
      let width = 1
      while (row[x + width] === true) width++
      runs.push(`M${x} ${y}h${width}v1h-${width}z`)
      x += width
    }
  }
  // Joined, it is one string; added up, it would be kept as a tree of its pieces, ten times as large.
  return { size, d: runs.join('') }
}

function escapeAttribute(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;')
}
