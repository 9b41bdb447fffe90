import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'

/** Where `scripts/build-web.mjs` puts what pages carry inline, as seen from src/web and from dist/web. */
const FOLDER = new URL('../../dist/pages/', import.meta.url)

/** A script or style as it was built for browsers, to put into a page. */
export function readBuilt(name: string): string {
  try {
    return readFileSync(new URL(name, FOLDER), 'utf8').trim()
  } catch (cause) {
    throw new Error(`dist/pages/${name} is missing: run "npm run build"`, { cause })
  }
}

/** Where the build put a file that is served as it is. */
export const builtFile = (name: string): URL => new URL(name, FOLDER)

/** A text as a source of the content security policy (CSP 3 §2.3.1). */
export const hashOf = (text: string): string =>
  `'sha256-${createHash('sha256').update(text).digest('base64')}'`
