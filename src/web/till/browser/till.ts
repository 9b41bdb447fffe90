import { Cart } from './cart.ts'
import { chargeSale, forgetSale, resendSale } from './send-sale.ts'

/** The script of a till: its keypad, and what tells staff that a sale is paid. */

const byId = <Kind extends HTMLElement>(id: string) => document.getElementById(id) as Kind
const KEYS: { readonly [key: string]: string } = { Backspace: 'back', '+': 'add', Delete: 'clear' }

function startTill(till: HTMLElement): void {
  const { currency, locale, charge: chargeText = '' } = till.dataset
  const decimals = Number(till.dataset.decimals)
  const format = new Intl.NumberFormat(locale, { style: 'currency', currency })
  const money = (units: number) => format.format(units / 10 ** decimals)
  const items = [...till.querySelectorAll<HTMLElement>('[data-item]')]
  const cart = new Cart(
    items.map(({ dataset }) => Number(dataset.units)),
    decimals,
  )
  const charge = byId<HTMLButtonElement>('charge')
  // Of this tab alone: it is there again after a look at the day's sales or a reload.
  const kept = `paylink-till/${location.pathname}`
  const stored = sessionStorage.getItem(kept)
  const keptTip = stored === null ? 0 : cart.restore(stored)
  const tipBefore = till.querySelector<HTMLInputElement>(`[name=tip][value="${keptTip}"]`)
  if (tipBefore) tipBefore.checked = true
  const tip = () => Number(till.querySelector<HTMLInputElement>('[name=tip]:checked')?.value ?? 0)

  function draw(): void {
    for (const [at, item] of items.entries()) item.dataset.count = String(cart.counts[at] || '')
    byId('lines').replaceChildren(...linesOf(till, items, cart, { money, draw }))
    const units = cart.total(tip())
    byId('total').textContent = money(units)
    // Isolated (UAX #9): between words that are read from right to left its sign would change sides.
    charge.textContent = chargeText.replace('{amount}', `\u2066${money(units)}\u2069`)
    charge.disabled = units === 0
    sessionStorage.setItem(kept, cart.kept(tip()))
  }

  till.addEventListener('click', ({ target }) => {
    const pressed = target instanceof Element ? target.closest<HTMLElement>('[data-key], [data-item]') : null
    if (!pressed) return
    if (pressed.dataset.key) cart.press(pressed.dataset.key)
    else cart.add(Number(pressed.dataset.item))
    draw()
  })
  till.addEventListener('change', draw)
  charge.addEventListener('click', () => {
    sessionStorage.removeItem(kept)
    chargeSale(cart.sale(tip()))
  })
  document.addEventListener('keydown', (event) => {
    const { key, ctrlKey, metaKey, altKey, target } = event
    if (ctrlKey || metaKey || altKey || byId<HTMLDialogElement>('sending').open) return
    if (key === 'Enter' && target === document.body) charge.click()
    const pressed = /^[0-9]$/.test(key) ? key : KEYS[key]
    if (pressed === undefined) return
    event.preventDefault()
    cart.press(pressed)
    draw()
  })
  addEventListener('pageshow', (event) => event.persisted && location.reload())
  // A till is open for days: the day begins anew while nobody loads the page.
  const today = byId<HTMLAnchorElement>('today')
  today.addEventListener('click', () => {
    const url = new URL(today.href)
    url.searchParams.set('since', String(new Date().setHours(0, 0, 0, 0)))
    today.href = url.href
  })
  draw()
  resendSale()
}

/** What is in the cart, each with a button that takes one of it away. */
function linesOf(
  { dataset: { other = '', remove = '' } }: HTMLElement,
  items: readonly HTMLElement[],
  cart: Cart,
  { money, draw }: { money: (units: number) => string; draw: () => void },
): HTMLElement[] {
  const line = (text: string, units: number, takeAway: () => void) => {
    const [row, name, button] = (['li', 'bdi', 'button'] as const).map((tag) => document.createElement(tag))
    if (!row || !name || !(button instanceof HTMLButtonElement)) return []
    name.textContent = text
    button.type = 'button'
    button.textContent = '−'
    button.ariaLabel = remove.replace('{item}', text)
    button.onclick = () => {
      takeAway()
      draw()
      byId('charge').focus()
    }
    row.append(name, money(units), button)
    return [row]
  }
  const sold = items.flatMap(({ dataset: { name = '' } }, at) => {
    const count = cart.counts[at] ?? 0
    if (count === 0) return []
    return line(count === 1 ? name : `${count} × ${name}`, cart.priceOf(at), () => {
      cart.counts[at] = count - 1
    })
  })
  const amounts = cart.amounts.flatMap((units, at) => line(other, units, () => cart.amounts.splice(at, 1)))
  return [...sold, ...amounts]
}

/** Two rising notes. Browsers play them where the page before was pressed, as Charge was. */
function chime(): void {
  const audio = new AudioContext()
  for (const [at, pitch] of [880, 1_320].entries()) {
    const [note, volume] = [audio.createOscillator(), audio.createGain()]
    const from = audio.currentTime + at * 0.15
    note.frequency.value = pitch
    volume.gain.setValueAtTime(0.3, from)
    volume.gain.exponentialRampToValueAtTime(0.001, from + 0.4)
    note.connect(volume).connect(audio.destination)
    note.start(from)
    note.stop(from + 0.4)
  }
  navigator.vibrate?.(200)
}

/** Shows the tick once the sale is paid, and meanwhile keeps the screen lit for the customer's camera. */
function watchSale(done: HTMLDialogElement): void {
  forgetSale()
  let wasPaid: boolean | null = null
  const look = () => {
    const state = document.querySelector('main')?.dataset.state ?? ''
    const isPaid = state === 'paid' || state === 'overpaid'
    if (isPaid && !wasPaid) done.showModal()
    // A payment can be taken back by the network: nothing stays green that is not paid.
    if (!isPaid && done.open) done.close()
    if (isPaid && wasPaid === false) chime()
    wasPaid = isPaid
  }
  document.addEventListener('drawn', look)
  look()
  // A phone that saves power refuses.
  navigator.wakeLock?.request('screen').catch(() => {})
}

const till = document.getElementById('till')
if (till) startTill(till)
const done = document.querySelector<HTMLDialogElement>('#till-done')
if (done) watchSale(done)
