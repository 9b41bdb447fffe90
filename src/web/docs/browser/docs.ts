/**
 * What the documentation's pages can do with a script: search, copy a sample, and send a request of the reference in test
 * mode. Everything that it shows is shown by it; without it the pages are complete. Text from answers is set as text only.
 */

type Entry = {
  readonly title: string
  readonly in: string
  readonly url: string
  readonly words?: string
}

const HITS_MAX = 12
const COPIED_MS = 2_000
/** As `new-api-key.ts` makes them; whoever pastes a live key would move real money. */
const TEST_KEY = /^sk_test_[0-9A-Za-z_]+$/
const KEY_KEPT_AS = 'paylink-test-key'
const LANGUAGE_KEPT_AS = 'paylink-language'

function element<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  fields: Partial<HTMLElementTagNameMap[Tag]>,
  ...children: readonly (Node | string)[]
): HTMLElementTagNameMap[Tag] {
  const made = Object.assign(document.createElement(tag), fields)
  made.append(...children)
  return made
}

function startSearch(): void {
  const box = document.querySelector('search')
  const input = box?.querySelector('input')
  const list = box?.querySelector('ul')
  const status = box?.querySelector('p')
  if (!box || !input || !list || !status) return
  box.hidden = false
  let entries: Promise<readonly Entry[]> | undefined
  const load = () => {
    entries ??= fetch('/docs/search.json').then((response) => response.json())
    return entries
  }
  const show = async () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean)
    const asked = input.value
    const found = await load().catch(() => undefined)
    if (found === undefined) entries = undefined
    if (asked !== input.value) return
    const hits = words.length === 0 ? [] : rank(found ?? [], words)
    list.replaceChildren(
      ...hits
        .slice(0, HITS_MAX)
        .map(({ title, in: where, url }) =>
          element(
            'li',
            {},
            element('a', { href: url }, title, element('span', { className: 'soft' }, where)),
          ),
        ),
    )
    status.textContent =
      found === undefined
        ? 'The search is not available now.'
        : words.length === 0
          ? ''
          : hits.length === 0
            ? 'Nothing found'
            : `${hits.length} found`
  }
  input.addEventListener('focus', () => void load().catch(() => undefined), { once: true })
  input.addEventListener('input', () => void show())
  box.addEventListener('keydown', (event) => {
    const links = [...list.querySelectorAll('a')]
    const at = links.findIndex((link) => link === document.activeElement)
    if (event.key === 'Escape') {
      input.value = ''
      void show()
      input.focus()
    } else if (event.key === 'ArrowDown') (links[at + 1] ?? links[0])?.focus()
    else if (event.key === 'ArrowUp') (at > 0 ? links[at - 1] : input)?.focus()
    else if (event.key === 'Enter' && event.target === input) links[0]?.click()
    else return
    event.preventDefault()
  })
  list.addEventListener('click', () => {
    input.value = ''
    void show()
  })
  document.addEventListener('keydown', (event) => {
    const isTyping = event.target instanceof Element && event.target.matches('input, textarea')
    if (isTyping || !(event.key === '/' || (event.key === 'k' && (event.metaKey || event.ctrlKey)))) return
    event.preventDefault()
    input.focus()
  })
}

/**
 * Entries with all of the words: in the title, those first whose title begins with the first word; then in the title and its
 * place; then as beginnings of words of the text below it.
 */
function rank(entries: readonly Entry[], words: readonly string[]): readonly Entry[] {
  const has = (text: string) => words.every((word) => text.toLowerCase().includes(word))
  const rankOf = ({ title, in: where, words: text = '' }: Entry): number | null => {
    if (has(title)) return title.toLowerCase().startsWith(words[0] ?? '') ? 0 : 1
    if (has(`${title} ${where}`)) return 2
    const spoken = ` ${title} ${where} ${text}`.toLowerCase()
    return words.every((word) => spoken.includes(` ${word}`)) ? 3 : null
  }
  const ranked = entries.map((entry) => ({ entry, rank: rankOf(entry) }))
  return [0, 1, 2, 3].flatMap((place) => ranked.filter((one) => one.rank === place).map(({ entry }) => entry))
}

function addCopyButtons(): void {
  for (const sample of document.querySelectorAll('main pre')) {
    const button = element('button', { type: 'button', className: 'copy' }, 'Copy')
    button.addEventListener('click', async () => {
      const isCopied = await navigator.clipboard.writeText(sample.textContent ?? '').then(
        () => true,
        () => false,
      )
      button.textContent = isCopied ? 'Copied' : 'Select the text and copy it'
      setTimeout(() => {
        button.textContent = 'Copy'
      }, COPIED_MS)
    })
    const holder = element('div', { className: 'sample' })
    sample.replaceWith(holder)
    holder.append(sample, button)
  }
}

/** Who opens a sample in one language reads all of the page in it; what they pressed stays where it is. */
function keepLanguage(): void {
  const samples = [...document.querySelectorAll<HTMLDetailsElement>('details[name$="-request"]')]
  const languageOf = (sample: Element) => sample.querySelector('summary')?.textContent
  const open = (language: string, except?: Element) => {
    for (const sample of samples) if (sample !== except && languageOf(sample) === language) sample.open = true
  }
  const kept = sessionStorage.getItem(LANGUAGE_KEPT_AS)
  if (kept !== null) open(kept)
  for (const sample of samples) {
    const summary = sample.querySelector('summary')
    summary?.addEventListener('click', () => {
      const language = languageOf(sample)
      if (sample.open || !language) return
      const { top } = summary.getBoundingClientRect()
      sessionStorage.setItem(LANGUAGE_KEPT_AS, language)
      // The press itself opens this one, after all listeners.
      open(language, sample)
      requestAnimationFrame(() => scrollBy(0, summary.getBoundingClientRect().top - top))
    })
  }
}

function startTrying(): void {
  const field = document.querySelector<HTMLInputElement>('#api-key')
  if (field === null) return
  field.value = sessionStorage.getItem(KEY_KEPT_AS) ?? ''
  for (const hidden of document.querySelectorAll<HTMLElement>('.key, .try')) hidden.hidden = false
  field.addEventListener('input', () => {
    const key = field.value.trim()
    if (TEST_KEY.test(key)) sessionStorage.setItem(KEY_KEPT_AS, key)
    else sessionStorage.removeItem(KEY_KEPT_AS)
  })
  for (const form of document.querySelectorAll<HTMLFormElement>('.try form')) {
    const idempotency = form.querySelector<HTMLInputElement>('[name=Idempotency-Key]')
    form.addEventListener('submit', async (event) => {
      event.preventDefault()
      const status = form.querySelector('[role=status]')
      const button = form.querySelector('button')
      if (!status || !button) return
      const key = field.value.trim()
      if (!TEST_KEY.test(key)) {
        const words = key.startsWith('sk_live_')
          ? 'This is a live key. Use a key of test mode: sk_test_…'
          : 'Enter an API key of test mode at the top of the page: sk_test_…'
        status.replaceChildren(element('p', {}, words))
        field.focus()
        return
      }
      if (idempotency?.value === '') idempotency.value = crypto.randomUUID()
      button.disabled = true
      status.replaceChildren(element('p', {}, 'Sending…'))
      status.replaceChildren(
        ...(await send(form, key).catch(() => [
          element('p', {}, 'No answer. Check that Paylink runs, and send it again.'),
        ])),
      )
      button.disabled = false
    })
  }
}

/** Sends what a form says, without the dashboard's cookie; gives what to show of the answer. */
async function send(form: HTMLFormElement, key: string): Promise<readonly HTMLElement[]> {
  const { method = 'GET', path: template = '' } = form.dataset
  let path = template
  const query = new URLSearchParams()
  const headers = new Headers({ authorization: `Bearer ${key}` })
  let body: string | null = null
  for (const input of form.querySelectorAll<HTMLInputElement | HTMLTextAreaElement>('[name]')) {
    const { name, value } = input
    if (value === '') continue
    if (input.dataset.in === 'path') path = path.replace(`{${name}}`, encodeURIComponent(value))
    else if (input.dataset.in === 'query') query.set(name, value)
    else if (input.dataset.in === 'header') headers.set(name, value)
    else body = value
  }
  if (body !== null) headers.set('content-type', 'application/json')
  const url = query.size === 0 ? path : `${path}?${query}`
  const response = await fetch(url, { method, headers, body, credentials: 'omit' })
  const text = await response.text()
  const id = response.headers.get('request-id')
  return [
    element('p', {}, `${response.status} ${response.statusText}${id === null ? '' : ` · ${id}`}`),
    ...(text === '' ? [] : [element('pre', { tabIndex: 0 }, element('code', {}, pretty(text)))]),
  ]
}

function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}

startSearch()
addCopyButtons()
keepLanguage()
startTrying()
