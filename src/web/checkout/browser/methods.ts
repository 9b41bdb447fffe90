/** The ways to pay as tabs (ARIA Authoring Practices, tabs pattern). Which one is shown stands in the page's URL. */

const tabs = (): HTMLElement[] => [...document.querySelectorAll<HTMLElement>('#methods > a')]

export function drawMethods(): void {
  const panel = document.getElementById('method')
  if (!panel) return
  const named = new URLSearchParams(location.search).get('pay') ?? panel.dataset.method
  const shown = tabs().find(({ dataset }) => dataset.method === named) ?? tabs()[0]
  if (!shown) return
  document.getElementById('methods')?.setAttribute('role', 'tablist')
  for (const tab of tabs()) {
    const isShown = tab === shown
    tab.setAttribute('role', 'tab')
    tab.setAttribute('aria-selected', String(isShown))
    tab.setAttribute('aria-controls', panel.id)
    tab.removeAttribute('aria-current')
    tab.tabIndex = isShown ? 0 : -1
    tab.onclick = (event) => {
      // With a key held, the browser opens the link somewhere else.
      if (event.metaKey || event.ctrlKey || event.shiftKey) return
      event.preventDefault()
      show(tab)
    }
  }
  panel.setAttribute('role', 'tabpanel')
  panel.setAttribute('aria-labelledby', shown.id)
  panel.dataset.method = shown.dataset.method
}

function show(tab: HTMLElement): void {
  const url = new URL(location.href)
  url.searchParams.set('pay', tab.dataset.method ?? '')
  history.replaceState(null, '', url)
  // Exchanges ask for the address alone.
  const code = tab.dataset.method === 'exchange' ? '#qr-address' : '#qr-payment'
  const input = document.querySelector<HTMLInputElement>(code)
  if (input) input.checked = true
  drawMethods()
  tab.focus()
}

/** Arrows, Home and End go to another tab, in the direction in which the page reads. */
export function moveBetweenMethods(event: KeyboardEvent): void {
  const { target, key } = event
  const all = tabs()
  const from = target instanceof HTMLElement ? all.indexOf(target) : -1
  if (from < 0) return
  const forward = document.dir === 'rtl' ? 'ArrowLeft' : 'ArrowRight'
  const back = document.dir === 'rtl' ? 'ArrowRight' : 'ArrowLeft'
  const to = { [forward]: from + 1, [back]: from - 1, Home: 0, End: -1, ' ': from }[key]
  if (to === undefined) return
  event.preventDefault()
  const tab = all.at(to % all.length)
  if (tab) show(tab)
}
