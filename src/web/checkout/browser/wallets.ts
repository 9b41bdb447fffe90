/** Pays with wallets of the browser (EIP-6963). */

type Wallets = {
  /** By the wallet's own id for this visit. */
  readonly found: Map<string, Wallet>
  /** The payment that was last asked for: what of, how it stands, and whether it may not be asked for again. */
  request: { readonly payment: string; readonly says: string; readonly isHeld: boolean }
}

const wallets: Wallets = { found: new Map(), request: { payment: '', says: '', isHeld: false } }

type Wallet = {
  readonly info: { readonly uuid: string; readonly name: string; readonly icon: string }
  readonly provider: { request(call: { method: string; params?: unknown[] }): Promise<unknown> }
}

export function watchWallets(): void {
  addEventListener('eip6963:announceProvider', (event) => {
    const { detail } = event as CustomEvent<Wallet>
    // Nobody has more wallets; a page full of buttons would be an extension's prank.
    if (wallets.found.size < 6) wallets.found.set(detail.info.uuid, detail)
    drawWallets()
  })
  // The page has been replaced by a newer one.
  document.addEventListener('drawn', drawWallets)
  dispatchEvent(new Event('eip6963:requestProvider'))
}

/** A button for each wallet, under the words of the last attempt. */
function drawWallets(): void {
  const box = document.getElementById('wallets')
  if (!box || !wallets.found.size) return
  const { request } = wallets
  const isSame = request.payment === paymentOf(box)
  const note = document.createElement('p')
  note.id = 'wallet-note'
  note.textContent = isSame ? request.says : ''
  const buttons = [...wallets.found.values()].map((wallet, index) => {
    const button = document.createElement('button')
    button.type = 'button'
    button.id = `wallet-${index}`
    button.className = 'button second'
    button.disabled = isSame && request.isHeld
    if (String(wallet.info.icon).startsWith('data:image/')) {
      const icon = new Image(24, 24)
      icon.src = wallet.info.icon
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
  return [dataset.chain, dataset.to, dataset.value, dataset.data].join()
}

/** A wallet chooses its own name, so it is cut, and isolated so that it cannot turn text around. */
function wordsFor(text: string | undefined, wallet: Wallet): string {
  const name = String(wallet.info.name).replace(/[\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '')
  return (text ?? '').replace('{wallet}', () => name.slice(0, 40))
}

type Ask = (method: string, ...params: unknown[]) => Promise<unknown>

/** EIP-1193's code of what a wallet threw; some wrap it. */
function codeOf(error: unknown): number | undefined {
  const { code, data } = error as { code?: number; data?: { originalError?: { code?: number } } }
  return data?.originalError?.code ?? code
}

/** Takes the wallet to the chain, and adds the chain first where the wallet has it not (EIP-3326, EIP-3085). */
async function switchTo(ask: Ask, chainId: string | undefined, add: string | undefined): Promise<void> {
  try {
    await ask('wallet_switchEthereumChain', { chainId })
  } catch (error) {
    if (codeOf(error) !== 4902 || !add) throw error
    await ask('wallet_addEthereumChain', JSON.parse(add))
    // Some wallets go there by themselves, and some do not.
    await ask('wallet_switchEthereumChain', { chainId })
  }
}

async function payWith(wallet: Wallet): Promise<void> {
  const box = document.getElementById('wallets')
  if (!box) return
  const payment = paymentOf(box)
  const texts = { ...box.dataset }
  const { chain: chainId, to, value, data, add } = texts
  const say = (text: string | undefined, isHeld: boolean) => {
    const says = wordsFor(text, wallet)
    wallets.request = { payment, says, isHeld }
    drawWallets()
    const announcer = document.getElementById('announcer')
    if (announcer) announcer.textContent = says
  }
  const ask: Ask = (method, ...params) => wallet.provider.request({ method, params })
  say(texts.confirm, true)
  let isSending = false
  try {
    const accounts = (await ask('eth_requestAccounts')) as string[]
    // A wallet may refuse to switch to the network that it is on already.
    if (Number(await ask('eth_chainId')) !== Number(chainId)) {
      await switchTo(ask, chainId, add)
      if (Number(await ask('eth_chainId')) !== Number(chainId)) throw { code: 4902 }
    }
    const now = document.getElementById('wallets')
    // The page changed while the wallet was asking: the payment is not the one to make now.
    if (!now || paymentOf(now) !== payment) return
    isSending = true
    await ask('eth_sendTransaction', { from: accounts[0], to, value, ...(data && { data }) })
    say(texts.sent, true)
  } catch (error) {
    const reason = codeOf(error)
    if (reason === 4001) say(texts.rejected, false)
    else if (reason === 4902 && !isSending) say(texts.unknown, false)
    else say(isSending ? texts.failed : texts.silent, false)
  }
}
