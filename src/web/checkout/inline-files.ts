import { readBuilt } from '../built-files.ts'

/** What every buyers' page carries inline, so that it is one request. */
export const SCRIPT = readBuilt('checkout.js')
export const STYLE = readBuilt('checkout.css')

/** Hides what only works with script. For a `noscript` element. */
export const STYLE_WITHOUT_SCRIPT = '.scripted{display:none!important}'
