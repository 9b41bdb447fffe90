/** Where people pay in euros: the euro area, and others that use it (ISO 3166-1). */
const EURO_COUNTRIES = 'AD AT BE BG CY DE EE ES FI FR GR HR IE IT LT LU LV MC ME MT NL PT SI SK SM VA XK'

/** Shows about how much each price is where the browser's language is spoken, in the notation of the page's. */
export function showLocalPrices(locale: string): void {
  for (const shown of document.querySelectorAll<HTMLElement>('.local-price')) show(shown, locale)
}

function show(shown: HTMLElement, locale: string): void {
  const country = /-([A-Z]{2})\b/.exec(navigator.language)?.[1] ?? new Intl.Locale(locale).maximize().region
  const dollarsPer = new URLSearchParams(shown.dataset.dollarsPer)
  // A currency's code begins with its country's (ISO 4217).
  const currency = EURO_COUNTRIES.includes(country ?? '-')
    ? 'EUR'
    : [...dollarsPer.keys()].find((code) => country && code.startsWith(country))
  const dollars = Number(dollarsPer.get(currency ?? ''))
  const typed = document.querySelector<HTMLInputElement>('#usd')?.value.replace(/,(?=\d{1,2}$)/, '.')
  const price = shown.dataset.cents ? Number(shown.dataset.cents) / 100 : Number(typed)
  shown.hidden = !(currency && dollars && price)
  if (!(currency && dollars && price)) return
  const amount = price / dollars
  shown.textContent = `≈ ${amount.toLocaleString(locale, { style: 'currency', currency })}`
}
