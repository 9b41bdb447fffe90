import { createRequire } from 'node:module'
import { AxeBuilder } from '@axe-core/playwright'
import type { Page } from 'playwright-core'

/** WCAG 2.2 AA, 1.4.3: ratio of text to its ground; large text may have less. */
const CONTRAST_MIN = 4.5
const CONTRAST_MIN_LARGE = 3
/** Our own rule for everything that is pressed (WCAG 2.5.5). */
const TARGET_PX_MIN = 44

/** Below which the accessibility rules ask of WCAG 2.2 AA. */
const AXE_TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

const CONTRAST_RULE = 'color-contrast'

/** The axe that the builder itself would put into the page. */
const axeScript = (): string => {
  const builder = createRequire(import.meta.url).resolve('@axe-core/playwright')
  return (createRequire(builder)('axe-core') as { readonly source: string }).source
}

/** What axe finds wrong with a page, or with a part of it. */
export async function axeFaults(page: Page, part?: string): Promise<string[]> {
  const axe = axeOf(page).withTags(AXE_TAGS)
  return faultsOf(part === undefined ? axe : axe.include(part))
}

/** What axe finds of text that can hardly be read: all that another colour scheme changes. */
export const axeContrastFaults = (page: Page): Promise<string[]> =>
  faultsOf(axeOf(page).withRules(CONTRAST_RULE))

/**
 * The same of a page with hundreds of parts that are drawn alike. Each rule looks at all of them but for the one that
 * takes nine tenths of the time, the contrast of text: of it, axe judges the parts that have an element that none before
 * them has, and `lowContrast` every text there is.
 */
export async function axeFaultsOfMany(page: Page, parts: string): Promise<string[]> {
  await page.evaluate((selector) => {
    const known = new Set<string>()
    const pathOf = (element: Element, within: Element): string => {
      const opened = element.hasAttribute('open') ? ' open' : ''
      const own = `${element.localName} ${element.className}${opened}`
      const { parentElement } = element
      const isOutermost = parentElement === null || parentElement === within
      return isOutermost ? own : `${pathOf(parentElement, within)}/${own}`
    }
    for (const element of document.querySelectorAll('*')) element.setAttribute('data-judged', '')
    for (const part of document.querySelectorAll(selector)) {
      const within = [...part.querySelectorAll('*')]
      const paths = within.map((element) => pathOf(element, part))
      if (paths.every((path) => known.has(path)))
        for (const element of within) element.removeAttribute('data-judged')
      for (const path of paths) known.add(path)
    }
  }, parts)
  const rules = JSON.stringify([{ id: CONTRAST_RULE, selector: '[data-judged]' }])
  const axeSource = `${axeScript()};axe.configure({ rules: ${rules} })`
  const faults = await faultsOf(axeOf(page, { axeSource }).withTags(AXE_TAGS))
  return [...faults, ...(await lowContrast(page))]
}

/**
 * Our pages have no frames: all of axe runs in the page itself, instead of half of it in a second one that is opened
 * for each, and what it finds in order is not told. That takes half the time.
 */
const axeOf = (page: Page, given: { readonly axeSource?: string } = {}): AxeBuilder =>
  new AxeBuilder({ page, ...given }).setLegacyMode(true).options({ resultTypes: ['violations'] })

async function faultsOf(axe: AxeBuilder): Promise<string[]> {
  const { violations } = await axe.analyze()
  return violations.map(
    ({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).join(' | ')}`,
  )
}

/** How wide the widest of these is, in CSS pixels. */
export const widest = (page: Page, selector: string): Promise<number> =>
  page
    .locator(selector)
    .evaluateAll((elements) => Math.max(...elements.map((element) => element.getBoundingClientRect().width)))

/** Visible text whose contrast with what lies under it is too low, as `ratio “text”`. */
export function lowContrast(page: Page): Promise<string[]> {
  return page.evaluate(
    ({ min, minLarge }) => {
      type Colour = { r: number; g: number; b: number; a: number }
      const parse = (text: string): Colour => {
        const [r = 0, g = 0, b = 0, a = 1] = (text.match(/[\d.]+/g) ?? []).map(Number)
        return { r, g, b, a }
      }
      const luminance = ({ r, g, b }: Colour): number => {
        const [x = 0, y = 0, z = 0] = [r, g, b].map((value) => {
          const part = value / 255
          return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
        })
        return 0.2126 * x + 0.7152 * y + 0.0722 * z
      }
      const groundOf = (element: Element | null): Colour => {
        if (element === null) return { r: 255, g: 255, b: 255, a: 1 }
        const ground = parse(getComputedStyle(element).backgroundColor)
        return ground.a === 1 ? ground : groundOf(element.parentElement)
      }
      const faults: string[] = []
      for (const element of document.body.querySelectorAll('*')) {
        const text = [...element.childNodes]
          .filter((node) => node.nodeType === Node.TEXT_NODE)
          .map((node) => node.textContent?.trim())
          .join('')
        const style = getComputedStyle(element)
        const isSeen =
          element.getClientRects().length > 0 && element.closest('.unseen, script, style, progress') === null
        if (text === '' || !isSeen || style.visibility === 'hidden') continue
        const [front, ground] = [luminance(parse(style.color)), luminance(groundOf(element))]
        const ratio = (Math.max(front, ground) + 0.05) / (Math.min(front, ground) + 0.05)
        const size = Number.parseFloat(style.fontSize)
        const isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700)
        if (ratio < (isLarge ? minLarge : min)) faults.push(`${ratio.toFixed(2)} “${text}”`)
      }
      return faults
    },
    { min: CONTRAST_MIN, minLarge: CONTRAST_MIN_LARGE },
  )
}

/** Links, buttons and the like that are smaller than a thumb, as `id: width × height`. */
export function smallTargets(page: Page): Promise<string[]> {
  return page.evaluate((min) => {
    const targets = document.querySelectorAll<HTMLElement>('a, button, label[for^=qr], summary')
    return [...targets]
      .map((element) => ({ element, box: element.getBoundingClientRect() }))
      .filter(({ box }) => box.width > 0 && (box.width < min || box.height < min))
      .map(({ element, box }) => `${element.id || element.textContent}: ${box.width} × ${box.height}`)
  }, TARGET_PX_MIN)
}

/** How many pixels the page is wider than its window. */
export function overflow(page: Page): Promise<number> {
  return page.evaluate(() => Math.max(0, document.documentElement.scrollWidth - innerWidth))
}

/** Tables that are wider than their frame, by name: their last column is out of sight until somebody scrolls. */
export function cutTables(page: Page): Promise<(string | null)[]> {
  return page.evaluate(() =>
    [...document.querySelectorAll('.table-frame')]
      .filter((frame) => frame.scrollWidth > frame.clientWidth)
      .map((frame) => frame.getAttribute('aria-label')),
  )
}

/** Badges whose words go on in a second line, by their text. */
export function brokenBadges(page: Page): Promise<(string | null)[]> {
  return page.evaluate(() =>
    [...document.querySelectorAll('.badge')]
      .filter((badge) => badge.getClientRects().length > 0)
      .filter(
        (badge) =>
          badge.getBoundingClientRect().height > 1.5 * Number.parseFloat(getComputedStyle(badge).lineHeight),
      )
      .map((badge) => badge.textContent),
  )
}

const FIELD_PX_MAX = 640

/** Fields of forms that are wider than a line is read, by their label; a search is as wide as what it searches. */
export function wideFields(page: Page): Promise<(string | null | undefined)[]> {
  return page.evaluate(
    (max) =>
      [...document.querySelectorAll<HTMLInputElement>('.field :is(input, select, textarea)')]
        .filter((field) => field.getBoundingClientRect().width > max)
        .map((field) => field.labels?.[0]?.textContent),
    FIELD_PX_MAX,
  )
}

/** Controls and pictures without a name for a screen reader, and ids that occur twice. */
export function unnamed(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const nameOf = (element: Element) =>
      element.getAttribute('aria-label') ??
      (element instanceof HTMLInputElement ? element.labels?.[0] : element)?.textContent
    const nameless = [
      ...document.querySelectorAll('a, button, input:not([type=hidden]), progress, [role=img], summary'),
    ]
      .filter((element) => {
        const label =
          element instanceof HTMLProgressElement ? element.labels[0]?.textContent : nameOf(element)
        return !label?.trim()
      })
      .map((element) => element.outerHTML.slice(0, 80))
    const ids = [...document.querySelectorAll('[id]')].map((element) => element.id)
    return [...nameless, ...ids.filter((id, index) => ids.indexOf(id) !== index).map((id) => `twice: ${id}`)]
  })
}

/** Collects what a browser complains of on this page: errors, warnings, breaches of the policy. */
export function complaintsOf(page: Page): string[] {
  const alerts: string[] = []
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') alerts.push(message.text())
  })
  page.on('pageerror', (error) => alerts.push(String(error)))
  page.on('dialog', (dialog) => {
    alerts.push(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  return alerts
}
