import { readBuilt } from '../built-files.ts'

/** What every buyers' page carries inline, so that it is one request. */
export const SCRIPT = readBuilt('checkout.js')
export const STYLE = readBuilt('checkout.css')
/** And those of a till besides. */
export const TILL_SCRIPT = readBuilt('till.js')
export const TILL_STYLE = readBuilt('till.css')

/** Hides what only works with script. For a `noscript` element. */
export const STYLE_WITHOUT_SCRIPT = '.scripted{display:none!important}'
