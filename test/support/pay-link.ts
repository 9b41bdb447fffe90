import type { AssetId } from '../../src/core/assets.ts'

/** Opens a payment link as a buyer's browser does, without script; the URL of its checkout. */
export async function openLink(url: string, asset: AssetId): Promise<string> {
  const page = await fetch(url)
  const [form = '', action = ''] =
    /<form method="post" action="([^"]+)"[\s\S]*?<\/form>/.exec(await page.text()) ?? []
  const hidden = [...form.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)]
  const fields = new URLSearchParams(hidden.map(([, name = '', value = '']) => [name, value]))
  fields.set('asset', asset)
  const opened = await post(new URL(action, url), fields)
  return new URL(opened.headers.get('location') ?? '', url).href
}

/** Opens a payment link, and pays by the page's own test panel. */
export async function payLink(url: string): Promise<void> {
  const checkout = await openLink(url, 'LTC')
  await post(new URL(`${checkout}?form=test-pay`), new URLSearchParams({ scenario: 'exact' }))
}

async function post(url: URL, body: URLSearchParams): Promise<Response> {
  const headers = { origin: url.origin }
  const answer = await fetch(url, { method: 'POST', body, redirect: 'manual', headers })
  if (answer.status !== 303) throw new Error(`${url} answers ${answer.status}`)
  return answer
}
