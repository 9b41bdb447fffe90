import type { Snapshot } from '../live-streams.ts'
import { watchEvmWallets } from './evm-wallets.ts'
import { showLocalPrices } from './local-price.ts'
import { drawMethods, moveBetweenMethods } from './methods.ts'
import { watchSolanaWallets } from './solana-wallets.ts'

/** The script of the buyers' pages. Without it a page is complete and reloads by itself. */
let live: LivePage

type LivePage = {
  readonly path: string
  /** The words that only the script says. */
  readonly texts: DOMStringMap
  main: HTMLElement
  source: EventSource | null
  heardAt: number
  /** When the stream last gave a sign of life; 0 until it does. */
  beatAt: number
  newestServerMs: number
  /** How far the server's clock is ahead of this one. */
  aheadMs: number
  /** Milliseconds left at the last warning that was given. */
  warnedMs: number
  isOver: boolean
  /** The stream stopped beating, and the page says so. */
  isSilent: boolean
}

function start(): void {
  const main = document.querySelector('main')
  if (!main) return
  const texts = document.body.dataset
  live = {
    path: location.pathname.replace(/\/$/, ''),
    texts,
    main,
    source: null,
    heardAt: Date.now(),
    beatAt: 0,
    newestServerMs: 0,
    aheadMs: Number(texts.serverTime) - Date.now(),
    warnedMs: Number.POSITIVE_INFINITY,
    isOver: false,
    isSilent: false,
  }
  document.addEventListener('click', onClick)
  document.addEventListener('keydown', moveBetweenMethods)
  document.addEventListener('submit', onSubmit)
  document.addEventListener('input', drawLocalPrices)
  document.addEventListener('visibilitychange', wake)
  addEventListener('online', wake)
  addEventListener('offline', () => showLost(true))
  addEventListener('pageshow', (event) => event.persisted && wake())
  enliven()
  // Receipts and coin choices do not change by themselves.
  if (!main.dataset.version) return
  setInterval(tick, 1_000)
  setInterval(listen, 250)
  setInterval(watch, 5_000)
  connect()
}

/** The version and language that the page shows, as a query. */
function query(): string {
  return `?version=${live.main.dataset.version}&lang=${document.documentElement.lang}`
}

function announce(text: string | null | undefined): void {
  const announcer = document.getElementById('announcer')
  if (announcer) announcer.textContent = text ?? ''
}

function showLost(isLost: boolean): void {
  const banner = document.getElementById('lost')
  if (banner) banner.hidden = !isLost
}

function hear(snapshot: Snapshot): void {
  live.heardAt = Date.now()
  // What was on its way when the connection went comes after the event that says so.
  showLost(!navigator.onLine)
  const serverMs = Date.parse(snapshot.server_time)
  // A newer answer has been shown already.
  if (serverMs < live.newestServerMs) return
  live.newestServerMs = serverMs
  live.aheadMs = serverMs - live.heardAt
  if (snapshot.html === null || snapshot.version === live.main.dataset.version) return
  document.title = snapshot.title
  replaceMain(snapshot.html)
}

/** Puts the server's new markup in place of the old, and keeps what the buyer chose and where they are. */
function replaceMain(html: string): void {
  const template = document.createElement('template')
  template.innerHTML = html
  const next = template.content.querySelector('main')
  if (!next) return
  const { main } = live
  const focused = main.contains(document.activeElement) ? document.activeElement?.id : undefined
  for (const input of main.querySelectorAll<HTMLInputElement>('input:checked, #email')) {
    const same = next.querySelector<HTMLInputElement>(`#${input.id}`)
    if (!same) continue
    same.checked = input.checked
    same.value = input.value
  }
  for (const details of main.querySelectorAll('details')) {
    const same = next.querySelector<HTMLDetailsElement>(`#${details.id}`)
    if (same) same.open = details.open
  }
  const isMilestone = main.dataset.milestone !== next.dataset.milestone
  main.replaceWith(next)
  live.main = next
  live.isOver = false
  enliven()
  if (focused !== undefined) {
    const target = document.getElementById(focused) ?? document.getElementById('heading')
    target?.focus({ preventScroll: true })
  }
  if (!isMilestone) return
  const sentences = document.querySelectorAll('#announce > *')
  const stop = /^(ja|zh)$/.test(document.documentElement.lang) ? '。' : '. '
  announce([...sentences].map((sentence) => sentence.textContent).join(stop))
}

/** Writes times in the buyer's own zone. */
function enliven(): void {
  for (const time of document.querySelectorAll('time')) {
    const day = time.dataset.style === 'day' && ({ day: 'numeric', month: 'short', year: 'numeric' } as const)
    time.textContent = new Date(time.dateTime).toLocaleString(live.texts.locale, {
      ...day,
      hour: 'numeric',
      minute: '2-digit',
    })
  }
  drawLocalPrices()
  drawMethods()
  tick()
  document.dispatchEvent(new Event('drawn'))
}

function drawLocalPrices(): void {
  showLocalPrices(live.texts.locale ?? 'en')
}

function tick(): void {
  const deadlineMs = Number(live.main.dataset.deadline)
  const countdown = document.getElementById('countdown')
  if (!deadlineMs || !countdown) return
  const leftMs = Math.max(0, deadlineMs - Date.now() - live.aheadMs)
  countdown.textContent = clockText(Math.ceil(leftMs / 1_000))
  warn(leftMs)
  if (leftMs > 0 || live.isOver) return
  live.isOver = true
  // A payment in the deadline's own second is still in time; the page changes just after it.
  setTimeout(poll, 1_000)
}

function clockText(seconds: number): string {
  const pad = (value: number) => String(value).padStart(2, '0')
  const hours = Math.floor(seconds / 3_600)
  const minutes = Math.floor(seconds / 60) % 60
  return `${hours ? `${hours}:${pad(minutes)}` : minutes}:${pad(seconds % 60)}`
}

function warn(leftMs: number): void {
  const isLast = leftMs <= 60_000
  if (!isLast && leftMs > 300_000) return
  document.getElementById('deadline')?.classList.add(isLast ? 'last' : 'soon')
  const limitMs = isLast ? 60_000 : 300_000
  if (limitMs < live.warnedMs) announce(isLast ? live.texts.warningOne : live.texts.warningFive)
  live.warnedMs = limitMs
}

async function poll(): Promise<void> {
  try {
    // Browsers of before 2022 have no such limit.
    const signal = AbortSignal.timeout?.(4_000)
    const answer = await fetch(`${live.path}/state${query()}`, { cache: 'no-store', signal })
    if (!answer.ok) throw answer.status
    hear(await answer.json())
  } catch {
    // The stream connects again by itself, and `watch` asks again.
    showLost(true)
  }
}

function connect(): void {
  live.source?.close()
  live.source = new EventSource(`${live.path}/events${query()}`)
  live.beatAt = 0
  live.source.onmessage = (message) => hear(JSON.parse(message.data))
  live.source.addEventListener('beat', () => {
    if (live.isSilent) showLost(!navigator.onLine)
    live.isSilent = false
    live.beatAt = Date.now()
  })
  // A server that has gone says so at once by ending the stream. Not all of its pages ask it together.
  live.source.onerror = () => {
    live.beatAt = 0
    setTimeout(poll, 1_000 + Math.random() * 2_000)
  }
}

/** The stream beats every 3 s. Nobody is asked where it falls silent: the server may be busy, and has all other pages too. */
function listen(): void {
  if (!live.beatAt || live.isSilent || Date.now() - live.beatAt < 4_400) return
  live.isSilent = true
  showLost(true)
}

/** Phones drop sockets silently. After 20 s without a sign of life the stream is not trusted. */
function watch(): void {
  if (Date.now() - Math.max(live.heardAt, live.beatAt) < 20_000) return
  if (live.source?.readyState !== EventSource.CONNECTING) connect()
  poll()
}

function wake(): void {
  for (const form of document.forms) form.dataset.sent = ''
  // What came while nobody looked may be read only now.
  live.beatAt = 0
  if (document.hidden || !live.main.dataset.version) return
  if (live.source?.readyState !== EventSource.OPEN) connect()
  poll()
}

function onClick(event: MouseEvent): void {
  const button = event.target instanceof Element && event.target.closest<HTMLElement>('[data-copy]')
  if (button) copy(button)
  if (event.target instanceof Element && event.target.closest('#print')) print()
}

async function copy(button: HTMLElement): Promise<void> {
  const text = button.dataset.copy ?? ''
  try {
    await navigator.clipboard.writeText(text)
  } catch {
    // Without https there is no clipboard API; the older way still works.
    const field = document.createElement('textarea')
    field.value = text
    document.body.append(field)
    field.select()
    document.execCommand('copy')
    field.remove()
    button.focus()
  }
  const label = button.querySelector('span')
  announce('')
  announce(live.texts.copied)
  if (!label || button.classList.contains('done')) return
  const before = label.textContent
  label.textContent = live.texts.copied ?? ''
  button.classList.add('done')
  setTimeout(() => {
    label.textContent = before
    button.classList.remove('done')
  }, 2_000)
}

function onSubmit(event: SubmitEvent): void {
  const { submitter, target } = event
  if (!(submitter instanceof HTMLButtonElement && target instanceof HTMLFormElement)) return
  const isPlay = target.id === 'sandbox-form'
  // A second press before the next page is there would ask for a second payment.
  if (isPlay || target.dataset.sent) event.preventDefault()
  if (isPlay) play(target, submitter)
  else target.dataset.sent = '1'
}

/** Plays a scenario without leaving the page, so that the buyer sees it happen. */
async function play(form: HTMLFormElement, chosen: HTMLButtonElement): Promise<void> {
  const buttons = form.querySelectorAll('button')
  for (const button of buttons) button.disabled = true
  const body = new URLSearchParams({ scenario: chosen.value })
  const answer = await fetch(form.action, { method: 'POST', body, redirect: 'manual' }).catch(() => null)
  const failure = document.getElementById('sandbox-failure')
  if (failure) failure.hidden = answer?.type === 'opaqueredirect'
  for (const button of buttons) button.disabled = false
  poll()
}

start()
watchEvmWallets()
watchSolanaWallets()
