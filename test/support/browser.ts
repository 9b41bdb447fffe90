import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type Browser, type CDPSession, chromium, type Page } from 'playwright-core'
import sharp from 'sharp'
import { programPath } from './programs.ts'

/** What a page is to show comes late on a busy machine; the default is half of it. */
const AWAITED_MS_MAX = 60_000

/**
 * The machine's own Chromium, headless and silent: it talks to nobody but the page under test. Fails with the
 * command that installs it where there is none.
 */
export async function launchBrowser(): Promise<Browser> {
  const browser = await chromium.launch({
    executablePath: programPath('chromium'),
    args: [
      '--no-sandbox',
      // Nothing here has a graphics card: to imitate one takes longer than to draw, and one more process can fail.
      '--disable-gpu',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-domain-reliability',
      '--disable-sync',
      '--no-first-run',
      '--no-default-browser-check',
      '--no-pings',
    ],
  })
  browser.on('context', (context) => context.setDefaultTimeout(AWAITED_MS_MAX))
  const newContext = browser.newContext.bind(browser)
  // A wheel that turns while a test waits is drawn without a graphics card, sixty times a second.
  browser.newContext = (options) => newContext({ reducedMotion: 'reduce', ...options })
  return browser
}

export type Authenticator = { readonly cdp: CDPSession; readonly authenticatorId: string }

/** Gives the page a device that keeps passkeys and is always unlocked by its owner. */
export async function addAuthenticator(page: Page): Promise<Authenticator> {
  const cdp = await page.context().newCDPSession(page)
  await cdp.send('WebAuthn.enable')
  const { authenticatorId } = await cdp.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  })
  return { cdp, authenticatorId }
}

/** Where `SCREENSHOTS=FOLDER` keeps a picture of every page that the tests look at; by default nothing draws them. */
const SCREENSHOTS = process.env.SCREENSHOTS

/**
 * A picture of the whole page, taken in a window that is made as tall as the page before, and as it was after. A window
 * that Chromium has to enlarge for a picture and make small again may have nothing drawn at that moment ("Unable to
 * capture screenshot").
 */
export async function photograph(page: Page, name: string): Promise<void> {
  if (SCREENSHOTS === undefined) return
  const window = page.viewportSize()
  const size = await page.evaluate(() => ({
    width: innerWidth,
    height: Math.max(innerHeight, document.documentElement.scrollHeight),
  }))
  await page.setViewportSize(size)
  const path = join(SCREENSHOTS, `${name}.png`)
  await mkdir(dirname(path), { recursive: true })
  // Pages have few colours: with a palette a picture is a third of the size.
  await sharp(await page.screenshot())
    .png({ palette: true, effort: 10 })
    .toFile(path)
  if (window !== null) await page.setViewportSize(window)
}

/** The page's requests of that pattern wait until what this answers is called. */
export async function holdRequests(page: Page, pattern: string): Promise<() => void> {
  let release = () => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  await page.route(pattern, async (route) => {
    await released
    await route.continue()
  })
  return release
}
