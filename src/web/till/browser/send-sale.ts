/** A sale that is not known to be answered. */
type Pending = { readonly at: number; readonly body: string }

/** A sale can be paid for so long; an older one is not sent by itself, for the customer has gone. */
const PENDING_MS_MAX = 15 * 60_000
const ANSWER_MS_MAX = 15_000
const RETRY_MS = 3_000
const RETRIES_MAX = 200

const slug = location.pathname.split('/')[2] ?? ''
const STORED = `paylink-till/${slug}`
const byId = (id: string) => document.getElementById(id) as HTMLElement

/** The page of a sale has been reached: it is not sent again. */
export const forgetSale = (): void => localStorage.removeItem(STORED)

export function chargeSale(sale: URLSearchParams): void {
  const pending: Pending = { at: Date.now(), body: sale.toString() }
  localStorage.setItem(STORED, JSON.stringify(pending))
  send(pending.body)
}

/** What was charged before the page was loaded anew, or before the staff code was asked for again. */
export function resendSale(): void {
  const stored = localStorage.getItem(STORED)
  const pending: Pending | null = stored === null ? null : JSON.parse(stored)
  if (pending !== null && Date.now() - pending.at < PENDING_MS_MAX) send(pending.body)
  else forgetSale()
}

/** Sends a sale until it is answered or discarded, always under the same name: it becomes one invoice. */
function send(body: string): void {
  const [text, retry, discard] = [byId('sending-text'), byId('retry'), byId('discard')]
  let timer: ReturnType<typeof setTimeout> | undefined
  let tries = 0
  const show = (name: string) => {
    text.textContent = text.dataset[name] ?? ''
    const isWaiting = name === 'sending'
    retry.hidden = isWaiting || name === '409' || name === '422'
    // While a bad line is tried again and again, the way out stays where it is.
    discard.hidden = isWaiting && tries === 0
    if (!isWaiting && document.activeElement !== discard) (retry.hidden ? discard : retry).focus()
  }
  const attempt = async (): Promise<void> => {
    clearTimeout(timer)
    show('sending')
    try {
      const signal = AbortSignal.timeout(ANSWER_MS_MAX)
      const url = `./${slug}/sale${location.search}`
      const answer = await fetch(url, { method: 'POST', body: new URLSearchParams(body), signal })
      const { status } = answer
      if (status === 200) return location.assign((await answer.json()).path)
      if (status === 404 || status === 409 || status === 422) forgetSale()
      // The code is asked for, and then the sale is sent; or the till is closed, and its page says so.
      if (status === 401 || status === 404) return location.reload()
      show(text.dataset[status] === undefined ? '503' : String(status))
    } catch {
      show('offline')
      if (tries++ < RETRIES_MAX) timer = setTimeout(attempt, RETRY_MS)
    }
  }
  retry.onclick = attempt
  discard.onclick = () => {
    forgetSale()
    location.reload()
  }
  const box = byId('sending') as HTMLDialogElement
  // Escape would leave the sale waiting unseen.
  box.oncancel = (event) => event.preventDefault()
  if (!box.open) box.showModal()
  attempt()
}
