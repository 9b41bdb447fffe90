import { readStrictUrl } from '../strict-url.ts'

/** Where a shop that is being built runs: on the machine of whoever builds it. */
const OWN_MACHINE = /^(?:localhost|127\.0\.0\.1|\[::1\])$/

/**
 * Whether a buyer may be sent back to this page of the shop: https, and in test mode also http on the own machine. It
 * is the merchant's word, given with its key and stored: nothing that a buyer's URL says leads anywhere.
 */
export function isReturnUrl(text: string, livemode: boolean): boolean {
  const read = readStrictUrl(text, ['https:', 'http:'])
  if (read.kind === 'refused') return false
  return read.url.protocol === 'https:' || (!livemode && OWN_MACHINE.test(read.url.hostname))
}
