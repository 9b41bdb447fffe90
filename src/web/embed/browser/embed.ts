/**
 * `embed.js`, which shops load from us into their own pages: it turns every element that names a payment link into a
 * link of its own, and does nothing else. No HTML is parsed and no style element made, so that the strictest content
 * security policy and Trusted Types have nothing to refuse.
 */

const ATTRIBUTES = ['paylink-link', 'ulasend-link', 'label', 'usd-amount', 'amount', 'currency']
const SLUG = /^pl_[0-9A-Za-z]{2}[-0-9A-Za-z][0-9A-Za-z]{7}$/
const USD = /^((0|[1-9]\d{0,5})(\.\d{1,2})?)?$/
/** Neither, or an amount with its currency. */
const PRICE = /^((0|[1-9]\d{0,11})(\.\d{1,2})? [A-Z]{3}| )$/

/** Where the script came from, and what was made of each element so far. */
let home: string
let made: WeakMap<Element, { from: string; button: HTMLElement | null }>

function start(): void {
  const script = document.currentScript
  if (!(script instanceof HTMLScriptElement)) return
  home = script.src
  made = new WeakMap()
  // Included a second time, the first still does all the work.
  if ('ulasend' in window) return
  Object.assign(window, { ulasend: 1 })
  scan()
  new MutationObserver(scan).observe(document, {
    childList: true,
    subtree: true,
    attributeFilter: ATTRIBUTES.map((name) => `data-${name}`),
  })
}

function scan(): void {
  for (const element of document.querySelectorAll<HTMLElement>('[data-paylink-link],[data-ulasend-link]')) {
    const { paylinkLink, ulasendLink = '', label = '', usdAmount: usd = '' } = element.dataset
    const { amount = '', currency = '' } = element.dataset
    const link = paylinkLink ?? ulasendLink
    const from = JSON.stringify([link, label, usd, amount, currency])
    const before = made.get(element)
    if (before?.from === from) continue
    before?.button?.remove()
    const isRight =
      SLUG.test(link) && USD.test(usd) && PRICE.test(`${amount} ${currency}`) && !(usd && amount)
    const button = isRight ? place(element, link, label, { usd, amount, currency }) : null
    if (!button) console.warn('no payment link or amount', element)
    made.set(element, { from, button })
  }
}

function place(
  element: HTMLElement,
  link: string,
  label: string,
  parameters: Record<string, string>,
): HTMLElement {
  const url = new URL(`l/${link}`, home)
  for (const name in parameters) if (parameters[name]) url.searchParams.set(name, parameters[name])
  const anchor = document.createElement('a')
  anchor.href = url.href
  anchor.target = '_blank'
  anchor.rel = 'noopener'
  anchor.part.add('button')
  anchor.textContent = label || 'Pay'
  const button = document.createElement('span')
  const root = button.attachShadow({ mode: 'open' })
  const sheet = new CSSStyleSheet()
  sheet.replaceSync(
    'a{display:inline-block;padding:.8em 1.2em;border-radius:.6em;background:#2b50d8;color:#fff;font:600 1rem system-ui;text-decoration:none}',
  )
  root.adoptedStyleSheets = [sheet]
  root.append(anchor)
  anchor.onclick = () => {
    const name = element.dataset.paylinkLink === undefined ? 'ulasend:open' : 'paylink:open'
    button.dispatchEvent(new CustomEvent(name, { bubbles: true, detail: { link } }))
  }
  // A script shows no children.
  if (element instanceof HTMLScriptElement) element.after(button)
  else element.append(button)
  return button
}

start()
