/** A button for each wallet of the browser that can pay the coin of the page. */

type Wallet = {
  /** Which family of coins it pays, as the page names it. */
  readonly kind: 'evm' | 'solana'
  /** Unique for this visit. */
  readonly id: string
  readonly name: string
  readonly icon: string
  /**
   * Asks the wallet for the payment that the page's `data-` words describe. `mayGoOn` is asked last before the wallet sends:
   * false where the page changed meanwhile, and then nothing may be sent.
   */
  pay(words: DOMStringMap, mayGoOn: () => boolean): Promise<'sent' | 'stale'>
}

/** Why a wallet did not pay. */
export class WalletFault extends Error {
  readonly says: 'rejected' | 'unknown' | 'silent'

  constructor(says: WalletFault['says']) {
    super(says)
    this.says = says
  }
}

type Wallets = {
  /** By the wallet's own id. */
  readonly found: Map<string, Wallet>
  /** The payment that was last asked for: what of, how it stands, and whether it may not be asked for again. */
  request: { readonly payment: string; readonly says: string; readonly isHeld: boolean }
}

const wallets: Wallets = { found: new Map(), request: { payment: '', says: '', isHeld: false } }

export function addWallet(wallet: Wallet): void {
  // Nobody has more wallets; a page full of buttons would be an extension's prank.
  if (wallets.found.size < 6 || wallets.found.has(wallet.id)) wallets.found.set(wallet.id, wallet)
  drawWallets()
}

// The page has been replaced by a newer one.
document.addEventListener('drawn', drawWallets)

/** A button for each wallet, under the words of the last attempt. */
function drawWallets(): void {
  const box = document.getElementById('wallets')
  const shown = [...wallets.found.values()].filter(({ kind }) => kind === box?.dataset.kind)
  if (!box || !shown.length) return
  const { request } = wallets
  const isSame = request.payment === paymentOf(box)
  const note = document.createElement('p')
  note.id = 'wallet-note'
  note.textContent = isSame ? request.says : ''
  const buttons = shown.map((wallet, index) => {
    const button = document.createElement('button')
    button.type = 'button'
    button.id = `wallet-${index}`
    button.className = 'button second'
    button.disabled = isSame && request.isHeld
    if (String(wallet.icon).startsWith('data:image/')) {
      const icon = new Image(24, 24)
      icon.src = wallet.icon
      icon.alt = ''
      icon.onerror = () => icon.remove()
      button.append(icon)
    }
    button.append(wordsFor(box.dataset.pay, wallet))
    button.onclick = () => payWith(wallet)
    return button
  })
  const focused = box.contains(document.activeElement) ? document.activeElement?.id : undefined
  box.replaceChildren(...buttons, note)
  box.hidden = false
  if (focused) document.getElementById(focused)?.focus()
}

/** Identifies a payment: the same coin, address and amount are not asked for twice. */
function paymentOf({ dataset }: HTMLElement): string {
  return [dataset.kind, dataset.chain, dataset.to, dataset.value, dataset.data].join()
}

/** A wallet chooses its own name, so it is cut, and isolated so that it cannot turn text around. */
function wordsFor(text: string | undefined, wallet: Wallet): string {
  const name = String(wallet.name).replace(/[\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '')
  return (text ?? '').replace('{wallet}', () => name.slice(0, 40))
}

async function payWith(wallet: Wallet): Promise<void> {
  const box = document.getElementById('wallets')
  if (!box) return
  const payment = paymentOf(box)
  const texts = { ...box.dataset }
  const say = (text: string | undefined, isHeld: boolean) => {
    const says = wordsFor(text, wallet)
    wallets.request = { payment, says, isHeld }
    drawWallets()
    const announcer = document.getElementById('announcer')
    if (announcer) announcer.textContent = says
  }
  say(texts.confirm, true)
  let isSending = false
  try {
    const outcome = await wallet.pay(texts, () => {
      const now = document.getElementById('wallets')
      isSending = now !== null && paymentOf(now) === payment
      return isSending
    })
    if (outcome === 'sent') say(texts.sent, true)
  } catch (error) {
    const fault = error instanceof WalletFault ? error.says : isSending ? 'failed' : 'silent'
    say(texts[fault], false)
  }
}
